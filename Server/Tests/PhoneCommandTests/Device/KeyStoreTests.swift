import ArgumentParser
import Foundation
import Testing
import UAFClient

@testable import PhoneCommand

@Suite("Decision 131: the terminal phone's key store")
struct KeyStoreTests {
    private let home = FileManager.default.temporaryDirectory.appending(path: "phone-\(UUID().uuidString)").path()

    private func options(_ words: String...) throws -> PhoneOptions {
        try FileManager.default.createDirectory(atPath: self.home, withIntermediateDirectories: true)
        return try PhoneOptions.parse(["--home", self.home] + words)
    }

    @Test("A phone remembers its chip, and its keys do not go back into a file before it is wiped")
    func remembered() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.home) }
        #expect(try PhoneKeyStore(self.options()) == .file)
        #expect(try PhoneKeyStore(self.options("--key-store", "file")) == .file)
        #expect(try PhoneKeyStore(self.options("--key-store", "tpm")) == .tpm(tcti: "device:/dev/tpmrm0"))
        let chip = PhoneKeyStore.tpm(tcti: "swtpm:path=/tmp/none")
        #expect(try PhoneKeyStore(self.options("--key-store", "tpm", "--tcti", "swtpm:path=/tmp/none")) == chip)
        #expect(try PhoneKeyStore(self.options()) == .file)
        try chip.keep(home: self.home)
        #expect(try PhoneKeyStore(self.options()) == chip)
        #expect(try PhoneKeyStore(self.options("--key-store", "tpm")) == chip)
        #expect(PhoneKeyStore.kept(home: self.home) == chip)
        #expect {
            _ = try PhoneKeyStore(self.options("--key-store", "file"))
        } throws: { ($0 as? Refusal)?.status == .usage }
        try await WipeCommand.parse(["--home", self.home, "--approve", "--json"]).run()
        #expect(try PhoneKeyStore(self.options("--key-store", "file")) == .file)
    }

    @Test("Without the chip the phone says so and can still be wiped; a chip's place without a chip is a wrong usage")
    func missing() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.home) }
        let options = try self.options("--key-store", "tpm", "--tcti", "swtpm:path=/tmp/no-such-chip")
        #expect {
            _ = try PhoneDevice(options)
        } throws: { error in
            let refusal = error as? Refusal
            return refusal?.status == .notFound && refusal?.reason == "no-tpm"
                && refusal?.sentence.contains("/tmp/no-such-chip") == true
        }
        // Nothing was kept of a chip that has never answered; a phone whose chip is gone can still be wiped.
        #expect(throws: Never.self) { _ = try PhoneDevice(try self.options()) }
        try PhoneKeyStore.tpm(tcti: "swtpm:path=/tmp/no-such-chip").keep(home: self.home)
        #expect(throws: Refusal.self) { _ = try PhoneDevice(try self.options()) }
        try await WipeCommand.parse(["--home", self.home, "--approve", "--json"]).run()
        #expect(throws: Never.self) { _ = try PhoneDevice(try self.options()) }
        #expect((try? self.options("--tcti", "swtpm:")) == nil)
        #expect((try? self.options("--key-store", "file", "--tcti", "swtpm:")) == nil)
        #expect((try? self.options("--key-store", "paper")) == nil)
    }
}
