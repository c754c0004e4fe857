import CountersignServer
import Foundation
import Hummingbird
import Logging
import NIOCore
import Records
import ServiceLifecycle

/// The socket in the data folder by which operators administer on the server's own machine.
enum AdministrationSocket {
    /// Returns the application at the socket. The data folder is its owner's alone, and the socket's mode is 0600.
    static func application(
        _ assembly: ServerAssembly, folder: DataFolder, stop: ServerStop? = nil, _ logger: Logger,
        onRunning: @escaping @Sendable () -> Void = {}
    ) -> any Service {
        let path = folder.socketPath
        unlink(path)
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .notice)
        return Application(
            router: assembly.socketRouter(), server: .bounded(assembly.configuration.limits, stop: stop),
            configuration: .init(address: .unixDomainSocket(path: path), serverName: nil),
            onServerRunning: { _ in
                chmod(path, 0o600)
                onRunning()
            }, logger: quiet)
    }
}
