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
            ("https://user@id.example", false), ("https://id.example/path?x", false), ("localhost:8080", false),
            ("https://", false), ("", false),
        ])
    func issuers(address: String, isAccepted: Bool) {
        for option in ["--issuer", "--origin"] {
            let command = try? BankCommand.parse(["--client-id", "bank", "\(option)=\(address)"])
            #expect((command != nil) == isAccepted, "\(option)")
        }
    }

    @Test("a provider may be below a path of its host, and the bank itself not")
    func paths() {
        for (option, isAccepted) in [("--issuer", true), ("--origin", false)] {
            let command = try? BankCommand.parse(["--client-id", "bank", "\(option)=https://id.example/shared/id"])
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

    @Test("no version of TLS before 1.2 is taken")
    func tls() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bank-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(Self.certificate.utf8).write(to: folder.appendingPathComponent("c.pem"))
        try Data(Self.key.utf8).write(to: folder.appendingPathComponent("k.pem"))
        let command = try BankCommand.parse([
            "--client-id", "bank", "--tls-certificate", "\(folder.path)/c.pem", "--tls-key", "\(folder.path)/k.pem",
        ])
        let configuration = try #require(try command.tlsConfiguration())
        let minimum = Mirror(reflecting: configuration).children.first { $0.label == "minimumTLSVersion" }?.value
        #expect("\(try #require(minimum))" == "tlsv12")
    }

    /// A certificate of its own signature, and its key; for this test alone.
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBhDCCASugAwIBAgIUKowk6Xx2xjH9g6rBKRxneV7QDoUwCgYIKoZIzj0EAwIw
        FzEVMBMGA1UEAwwMYmFuay5leGFtcGxlMCAXDTI2MTEyMTE5MTQ1NFoYDzIxMjYx
        MDI4MTkxNDU0WjAXMRUwEwYDVQQDDAxiYW5rLmV4YW1wbGUwWTATBgcqhkjOPQIB
        BggqhkjOPQMBBwNCAAQ8G30bXLvGa137r9S88pqJdPQb0ddHDts9m5Tn9+EZhlyw
        l/3Jvnbjr4ekJT8oqNUHNMNGRFNY8xEzTGylOF0mo1MwUTAdBgNVHQ4EFgQUiO4S
        buM7Om7rT9lutjg97idd9OIwHwYDVR0jBBgwFoAUiO4SbuM7Om7rT9lutjg97idd
        9OIwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiB8RSouk65UwMyk
        kWuImPwt3H9VFUtgCWjRhbyfdwYiHgIgVH3ZM7u7foqUD/3MRTjhkZgiZXyFqNhV
        55UzhZVGJUc=
        -----END CERTIFICATE-----
        """
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHhh/bLjFWngwfqTU
        7ncNtxlPbXHvt3625VXqSvlSPqmhRANCAAQ8G30bXLvGa137r9S88pqJdPQb0ddH
        Dts9m5Tn9+EZhlywl/3Jvnbjr4ekJT8oqNUHNMNGRFNY8xEzTGylOF0m
        -----END PRIVATE KEY-----
        """

    @Test(
        "secrets are the same when every letter is",
        arguments: [("abc", true), ("abd", false), ("ab", false), ("", false)])
    func secrets(text: String, isSame: Bool) {
        #expect(Base64.isSame("abc", text) == isSame)
    }
}
