import Foundation
import NIOCore
import ServiceLifecycle

/// A listener whose failure names the address and the reason.
struct NamedListener: Service {
    let listener: any Service
    let endpoint: ServeConfiguration.Endpoint
    /// The setting that chooses the address.
    let setting: String

    func run() async throws {
        do { try await self.listener.run() } catch let error as IOError {
            throw self.failure(error.errnoCode) ?? error
        } catch let error as SocketAddressError {
            guard case .unknown(let host, _) = error else { throw error }
            throw CommandFailure(
                .failed, "there is no address for the host \(host) of \(self.setting)",
                remedy: "\(self.setting) takes a name or an address of this machine.")
        }
    }

    private func failure(_ code: Int32) -> CommandFailure? {
        switch code {
        case EADDRINUSE:
            CommandFailure(
                .failed, "the server cannot listen at \(self.endpoint): port \(self.endpoint.port) is taken",
                remedy:
                    "`ss -ltnp sport = :\(self.endpoint.port)` shows what. End it, or choose another with \(self.setting)."
            )
        case EACCES:
            CommandFailure(
                .failed, "this user may not listen at \(self.endpoint)",
                remedy:
                    "A port below 1024 needs CAP_NET_BIND_SERVICE, or a proxy in front; \(self.setting) chooses another."
            )
        case EADDRNOTAVAIL:
            CommandFailure(
                .failed, "this machine does not have the address \(self.endpoint.host)",
                remedy: "\(self.setting) takes an address of this machine, or 0.0.0.0 for all of them.")
        default:
            CommandFailure(
                .failed, "the server cannot listen at \(self.endpoint): \(String(cString: strerror(code)))",
                remedy: "\(self.setting) chooses another address.")
        }
    }
}
