import Dispatch
import Foundation
import Logging
import ServiceLifecycle
import Settings

/// Services that learn of a stop at the same time.
///
/// A `ServiceGroup` tells one service after the other, each after the end of the service before. Beside much work the
/// last listener would begin its drain late, and two listeners would take the time of two drains.
struct ServicesTogether: Service {
    private enum Ending { case service(String), late }

    let services: [(name: String, service: any Service)]
    let stop: ServerStop

    /// Returns the group that runs these services until the stop begins.
    ///
    /// Each member has a name, because the group describes a member without a name by reflection over all properties.
    /// The description of a whole server took two thirds of the processor time of a start.
    func group(logger: Logger) -> ServiceGroupConfiguration {
        ServiceGroupConfiguration(
            services: [
                .init(service: self, serviceName: "services"),
                .init(
                    service: StopSignal(stop: self.stop), successTerminationBehavior: .gracefullyShutdownGroup,
                    serviceName: "signal to stop"),
            ], logger: logger)
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Ending.self) { group in
            for (name, service) in self.services {
                group.addTask {
                    try await self.stop.part(name) { try await service.run() }
                    return .service(name)
                }
            }
            // A service that still runs when half of the reserve is left is cancelled, so that the store is closed in
            // time.
            group.addTask {
                try? await gracefulShutdown()
                try? await Task.sleep(for: self.stop.drain(atMost: self.stop.left) + Limits.Fixed.stopReserve / 2)
                return .late
            }
            var running = self.services.count
            while running > 0, let ending = try await group.next() {
                switch ending {
                case .service(let name):
                    running -= 1
                    // A service that ends by itself would leave the others without its work.
                    guard Task.isShuttingDownGracefully || Task.isCancelled else {
                        throw CommandFailure(.failed, "\(name) has ended although nobody has stopped the server")
                    }
                case .late: group.cancelAll()
                }
            }
            group.cancelAll()
        }
    }
}

/// Waits for the stop to begin. The group of services shuts down when this service returns.
struct StopSignal: Service {
    let stop: ServerStop

    func run() async throws { for await _ in self.stop.signals.cancelOnGracefulShutdown() { return } }
}

/// Begins the stop when a signal tells the process to end. Signals after the first signal change nothing.
final class StopSignals {
    private let sources: [any DispatchSourceSignal]

    init(_ stop: ServerStop, _ logger: Logger) {
        // The queue has a thread of its own. The time counts from the signal even if all other threads are busy.
        let queue = DispatchQueue(label: "countersign.stop")
        self.sources = [SIGTERM, SIGINT].map { number in
            #if canImport(Darwin)
                signal(number, SIG_IGN)
            #endif
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { Self.begin(stop, logger) }
            source.resume()
            return source
        }
    }

    func cancel() { for source in self.sources { source.cancel() } }

    private static func begin(_ stop: ServerStop, _ logger: Logger) {
        guard stop.begin() else { return }
        stop.watch { parts in
            logger.error(
                "The stop has taken its whole time: the process ends without the rest",
                metadata: stop.metadata.merging(["going": "\(parts.joined(separator: ", "))"]) { $1 })
            // An ordinary exit runs more code, which could wait for the same part.
            _exit(CommandFailure.Status.failed.rawValue)
        }
    }
}
