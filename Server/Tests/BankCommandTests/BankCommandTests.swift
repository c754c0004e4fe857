import ArgumentParser
import Foundation
import Testing

@testable import BankCommand

@Suite("The bank's command line")
struct BankCommandTests {
    @Test(
        "a provider in the clear is none, but on this machine",
        arguments: [
            ("https://id.example", true), ("https://id.example:8443/", true), ("http://localhost:8080", true),
            ("http://127.0.0.1:8080", true), ("http://[::1]:8080", true), ("http://evil.example", false),
            ("http://127.0.0.1.evil.example", false), ("http://127.evil.example", false), ("ftp://localhost", false),
            ("https://user@id.example", false), ("https://id.example/path", false), ("localhost:8080", false),
            ("https://", false), ("", false),
        ])
    func issuers(address: String, isAccepted: Bool) {
        for option in ["--issuer", "--origin"] {
            let command = try? BankCommand.parse(["--client-id", "bank", "\(option)=\(address)"])
            #expect((command != nil) == isAccepted, "\(option)")
        }
    }

    @Test(
        "what is wrong with a file is said in one sentence that names it",
        arguments: [
            ["--client-secret-file", "/nope/x"], ["--client-secret-file", "/dev/null"], ["--trace", "/nope/x"],
            ["--client-secret-file", "/etc/hostname", "--ca-file", "/nope/x"],
            ["--client-secret-file", "/etc/hostname", "--tls-certificate", "/nope/x", "--tls-key", "/nope/x"],
        ])
    func files(arguments: [String]) async throws {
        let command = try BankCommand.parse(["--client-id", "bank"] + arguments)
        let failure = await #expect(throws: BankFailure.self) { try await command.run() }
        let text = try #require(failure?.description)
        #expect(!text.contains("Error") && !text.contains("\n"))
        #expect(text.contains(arguments.last ?? "") || text.contains("--tls-certificate"))
    }
}
