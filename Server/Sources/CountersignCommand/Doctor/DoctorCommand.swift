import ArgumentParser
import Foundation
import Records
import _Primitives

/// `countersign doctor`: finds faults in a server's surroundings before people notice.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Look for what is wrong with a server: mail, clients, names, permissions, disk, certificate, clock.",
        discussion: """
            Runs on the server's machine, with the settings that the server runs with; a server may run or not. It changes \
            nothing.

              countersign doctor --config /etc/countersign/countersign.yaml --data /var/lib/countersign

            Exit codes: 0 all is good, 1 something is bad, 6 nothing is bad, but something could not be looked at.
            """
    )

    @Option(name: .long, help: "The server's YAML file of settings.")
    var config: String?

    @Option(name: .long, help: "The data folder.")
    var data: String?

    @Option(name: .long, help: "The key file that goes with it.")
    var keyFile: String?

    @Flag(name: .long, help: "Print one JSON object instead of text.")
    var json = false

    func run() async throws {
        let report = try await self.report()
        if self.json {
            Terminal.standardOutput(json: report.json)
        } else {
            Terminal.standardOutput(report.text)
        }
        if let status = report.status { throw ExitCode(status.rawValue) }
    }

    /// Returns the findings of the checks. Throws ``CommandFailure`` if there is no server to look at, or if the
    /// server's settings cannot be read.
    func report() async throws -> DoctorReport {
        var flags: [String: String] = [:]
        flags["data"] = self.data
        flags["keyFile"] = self.keyFile
        let configuration = try await ServeConfiguration.load(file: self.config, flags: flags)
        let local = LocalAdministration(
            folder: DataFolder(path: configuration.dataFolder), keyFile: KeyFile(path: configuration.keyFile))
        let isServed = local.isServed
        return try await local.withConnection(toServer: false) { connection in
            await DoctorReport(
                at: DoctorScene(configuration: configuration, connection: connection, isServed: isServed))
        }
    }
}
