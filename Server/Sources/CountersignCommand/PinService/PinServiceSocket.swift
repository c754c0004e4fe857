import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import Settings

/// The socket of the PIN service, for the members of the socket's group.
struct PinServiceSocket: Service {
    let path: String
    let service: PinService
    let logger: Logger
    var onRunning: @Sendable () -> Void = {}

    /// Listens until the shutdown. Throws ``CommandFailure`` if the socket cannot be opened.
    func run() async throws {
        let (path, logger, onRunning) = (self.path, self.logger, self.onRunning)
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .notice)
        // Removes the socket that a killed process has left.
        unlink(path)
        defer { unlink(path) }
        let listener = Application(
            router: PinServiceRoutes(service: self.service, logger: logger).router(), server: .bounded(Limits()),
            configuration: .init(address: .unixDomainSocket(path: path), serverName: nil),
            onServerRunning: { _ in
                chmod(path, 0o660)
                logger.info("The PIN service is ready at \(path)")
                onRunning()
            }, logger: quiet)
        do { try await listener.run() } catch is CancellationError { throw CancellationError() } catch {
            throw CommandFailure(
                .failed, "nothing can listen at \(path): \(error)",
                remedy: "Name a socket in a folder that this user can write to (--socket), of 100 letters at most.")
        }
    }
}
