import ArgumentParser
import Foundation
import Records
import _Primitives

/// `countersign doctor`: finds faults in a server's surroundings before people notice.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: """
            Look for what is wrong with a server: mail, clients, names, files, certificates, clock, apps and push services.
            """,
        discussion: """
            Runs on the server's machine, with the settings that the server runs with; a server may run or not. It changes \
            nothing. It fetches from the issuer and the push services of the settings, and sends push services a message \
            to no device, to see if they take the credentials.

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

    @Option(
        name: .long,
        help: "An https address whose machine's clock is right, to compare with: its answer's field Date counts.")
    var clock: String?

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
        guard self.clock.map({ PublicAddress($0)?.isProtected == true }) ?? true else {
            throw CommandFailure(.usage, "--clock takes an https address")
        }
        let isServed = local.isServed
        @Sendable func scene(_ connection: AdminConnection) -> DoctorScene {
            DoctorScene(
                configuration: configuration, connection: connection, isServed: isServed,
                clocks: self.clock.map { [$0] } ?? [])
        }
        if access(configuration.dataFolder, R_OK | X_OK) != 0, errno == EACCES {
            // This user cannot open the folder, which the check of permissions says. The checks that ask the
            // administration say why they cannot look.
            let socket = AdminConnection(place: .socket(path: DataFolder(path: configuration.dataFolder).socketPath))
            return await DoctorReport(at: scene(socket))
        }
        return try await local.withConnection(toServer: false) { await DoctorReport(at: scene($0)) }
    }
}
