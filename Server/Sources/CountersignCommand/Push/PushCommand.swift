import ArgumentParser
import Foundation
import Passwords
import Push
import Settings
import _Primitives

/// `countersign push`: the push services of the settings.
struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push", abstract: "Try the push services that the server uses.", subcommands: [Test.self])

    /// `countersign push test`.
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test",
            abstract: "Send a push without content to one device, and show what the push service says.",
            discussion: """
                The push says that something waits, and nothing waits. It reads the settings and key files that `countersign \
                serve` reads, needs no running server, and ends no target.

                  countersign push test apple-push-notification-service --config countersign.yaml --target-file target.txt

                Exit codes: 0 the push service has taken the push, 1 it has not, 2 usage.
                """)

        @Argument(
            help:
                "The dispatcher: apple-push-notification-service, firebase-cloud-messaging, web-push or unified-push.")
        var dispatcher: String

        @Option(
            name: .long,
            help: "A file with the push address of the device: device token, registration token or subscription.")
        var targetFile: String

        @Option(name: .long, help: "The YAML file of the server's settings.")
        var config: String?

        func run() async throws {
            let configuration = try await ServeConfiguration.load(file: self.config, flags: [:])
            let (limits, _) = try SettableLimits.applied(configuration.limits, to: Limits(), PasswordLimits())
            guard let services = try configuration.pushServices(calls: configuration.checkedCalls(limits), limits)
            else {
                throw self.isNotSetUp
            }
            let result: Result<PushAnswer, any Error>
            do { result = .success(try await self.push(by: services)) } catch { result = .failure(error) }
            await services.connections.close()
            do { try Self.show(result.get()) } catch let error as PushCallError {
                throw CommandFailure(.unreachable, error.reason)
            }
        }

        private func push(by services: PushSettings.Services) async throws -> PushAnswer {
            guard let text = FileManager.default.contents(atPath: self.targetFile) else {
                throw CommandFailure(.notFound, "there is no file \(self.targetFile)")
            }
            let target = String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            let providers: [(name: String, provider: (any PushProvider)?)] = [
                (APNs.name, services.apns), (FCM.name, services.fcm), (WebPush.name, services.webPush),
                (UnifiedPush.name, services.unifiedPush),
            ]
            guard let entry = providers.first(where: { $0.name.hasSameBytes(as: self.dispatcher) }) else {
                throw CommandFailure(
                    .usage, "there is no push service \(self.dispatcher)",
                    remedy: "There are: \(providers.map(\.name).joined(separator: ", ")).")
            }
            guard let provider = entry.provider else { throw self.isNotSetUp }
            guard provider.service(of: target) != nil else {
                throw CommandFailure(.usage, "\(self.targetFile) holds no push address of \(self.dispatcher)")
            }
            let now = TimeSource.system.now()
            let content = PushContent(pointingUntil: now + Limits().dispatchLifetime)
            return try await provider.push(content, to: target, at: now)
        }

        private var isNotSetUp: CommandFailure {
            CommandFailure(
                .usage, "the settings have no push service \(self.dispatcher)",
                remedy: "Name the file of the server's settings (--config), or set COUNTERSIGN_… as for the server.")
        }

        /// Shows an answer. Throws ``CommandFailure`` for every answer but a success.
        private static func show(_ answer: PushAnswer) throws {
            switch answer {
            case .delivered: Terminal.standardOutput("The push service has taken the push.")
            case .targetEnded:
                throw CommandFailure(
                    .failed, "the push service delivers to this device no longer",
                    remedy: "The app asks for a new push address at its next start.")
            case .targetRefused(let word):
                throw CommandFailure(
                    .failed, "the push service does not know the device (\(word))",
                    remedy: "The address is of another app, team, project or environment, or it is cut off.")
            case .wait:
                throw CommandFailure(.failed, "the push service takes no push now", remedy: "Try again later.")
            case .dispatcherStopped(let word):
                throw CommandFailure(
                    .failed, "the push service refuses this server (\(word))",
                    remedy: "The guide for operators has a row for each reason (Push).")
            case .messageRefused(let word):
                throw CommandFailure(.failed, "the push service refuses the push (\(word))")
            }
        }
    }
}
