import CountersignServer
import Foundation
import Hummingbird
import Logging
import NIOCore
import SQLStore
import ServiceLifecycle
import Settings

/// Administration on the server's own machine.
///
/// A command uses the socket in the data folder while a server runs. Otherwise the command itself serves the same
/// routes, for this one command.
struct LocalAdministration {
    let folder: DataFolder
    let keyFile: KeyFile

    func withConnection<Result: Sendable>(
        toServer: Bool, _ body: (AdminConnection) async throws -> Result
    ) async throws -> Result {
        let connection = AdminConnection(place: .socket(path: self.folder.socketPath))
        if self.isServed { return try await body(connection) }
        guard self.folder.holdsDatabase else {
            throw CommandFailure(
                .notFound, "there is no server's data in \(self.folder.path)",
                remedy: """
                    Start one with `countersign serve`, or name its folder: --data \(DataFolder.packagePath) is that of the \
                    package.
                    """)
        }
        guard !toServer else {
            throw CommandFailure(
                .unreachable, "no server runs with the data in \(self.folder.path)",
                remedy:
                    "Start it with `countersign serve`: the server alone can tell or do this, by its own settings.")
        }
        let opened = try OpenStore(folder: self.folder, keyFile: self.keyFile, limits: Limits())
        let assembly = try await opened.assembly(
            .init(issuer: self.folder.issuer ?? "http://localhost:8080", facets: [], limits: opened.limits))
        var logger = Logger(label: "countersign")
        logger.logLevel = .error
        let (started, continuation) = AsyncStream.makeStream(of: Void.self)
        let application = AdministrationSocket.application(assembly, folder: self.folder, logger) {
            continuation.finish()
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: application, serviceName: "socket of the administrators")], logger: logger))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            for await _ in started {}
            let result: Swift.Result<Result, any Error>
            do { result = .success(try await body(connection)) } catch { result = .failure(error) }
            await group.triggerGracefulShutdown()
            let ending: Swift.Result<Void, any Error>
            do { ending = .success(try await tasks.waitForAll()) } catch { ending = .failure(error) }
            // The socket goes first. Closing the database passes the folder to the next process, which makes a socket
            // of its own.
            unlink(self.folder.socketPath)
            await opened.database.close()
            try ending.get()
            return try result.get()
        }
    }

    /// `true` if a server listens at the socket now. The socket file of a dead server counts for nothing.
    var isServed: Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(self.folder.socketPath.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
