import ArgumentParser
import Ceremony
import Foundation
import Logging
import Records
import SQLiteStore
import ServiceLifecycle
import UnixSignals
import _Primitives

/// `countersign pin-service`: the service that evaluates PINs, beside the server and as another user.
struct PinServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin-service",
        abstract: "Run the service that evaluates PINs (pin/2), beside the server.",
        discussion: """
            With it, whoever has the server's database, its keys and a phone's storage still cannot try PINs: each try has \
            to be asked of this service, which has a secret of its own and counts for itself. Run it as another user than \
            the server, in a group that both are in, and name its socket to the server:

              countersign pin-service --data /var/lib/countersign-pins --socket /run/countersign-pins/socket
              countersign serve --pin-service /run/countersign-pins/socket

            The folder gets the file master.key at the first start. Keep a copy of it where you keep keys: without it no \
            PIN is right any more that was evaluated with it, and everybody needs a new activation. A service that has \
            counted evaluations and finds no master.key does not start.
            """)

    @Option(name: .long, help: "The folder for the secret and the count of evaluations; made where missing.")
    var data: String

    @Option(name: .long, help: "The socket to listen at (mode 0660): the server needs to be in its group.")
    var socket: String

    @Option(
        name: .long,
        help: "How many PINs it evaluates for one activation in 24 hours, each sign-in with a PIN being one.")
    var evaluationsPerDay = 100

    @Option(name: .long, help: "text or json.")
    var logFormat = "text"

    func validate() throws {
        guard (1...1_000_000).contains(self.evaluationsPerDay) else {
            throw ValidationError("--evaluations-per-day takes 1 to 1000000.")
        }
        guard LineLog.Format(rawValue: self.logFormat) != nil else {
            throw ValidationError("--log-format takes text or json.")
        }
    }

    func run() async throws {
        let handler = LineLog(LineLog.Format(rawValue: self.logFormat) ?? .text, level: .info)
        let logger = Logger(label: "countersign") { _ in handler }
        // The check must come before making the log.
        let isFirst = !EvaluationLog.exists(in: self.data)
        let log: EvaluationLog
        do { log = try EvaluationLog(folder: self.data) } catch let error as StoreError {
            throw CommandFailure(
                .failed, "the folder \(self.data) cannot be used: \(error.reason)",
                remedy: error.code == .locked
                    ? "Another process holds it: is a PIN service running with it?"
                    : "Name a place that this user can write to (--data).")
        }
        defer { log.close() }
        let service = PinService(
            master: try MasterKeyFile(path: self.data + "/master.key").key(isFirst: isFirst), log: log,
            limit: self.evaluationsPerDay)
        try await self.serve(service, logger)
    }

    private func serve(_ service: PinService, _ logger: Logger) async throws {
        let listener = PinServiceSocket(path: self.socket, service: service, logger: logger)
        try await ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [listener], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        ).run()
    }
}
