import ArgumentParser
import Crypto
import Foundation
import JOSE
import Records
import Testing
import _Primitives

@testable import CountersignCommand

@Suite("Decision 121: countersign receipt verify judges files, without a network and without a database")
struct ReceiptCommandTests {
    /// A folder with the files of a receipt.
    private final class Files {
        let folder = FileManager.default.temporaryDirectory.path + "/receipt-\(UUID().uuidString)"
        private let key: SigningKey

        init() throws {
            self.key = try SigningKey(
                kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "receipts")
            try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
            let content = Array("Pay\u{202E} 120 EUR".utf8)
            let claims: JSONObject = [
                "iss": .string("https://id.example"), "iat": .integer(100), "client_name": .string("Bank\u{1B}[2J"),
                "transaction_hash": .string(Base64URL.encode(Array(SHA256.hash(data: content)))),
            ]
            try self.write("content", content)
            try self.write(
                "receipt",
                Array(try JWS.sign(JSON.object(claims).serialized, type: ReceiptFormat.type, with: self.key).utf8))
            try self.writeKeys()
        }

        deinit { try? FileManager.default.removeItem(atPath: self.folder) }

        func write(_ name: String, _ bytes: [UInt8]) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: "\(self.folder)/\(name)"))
        }

        func writeKeys(isSeen: Bool = false) throws {
            var key = try #require(self.key.publicKey?.publicJSON)
            key["signs_from"] = .integer(1)
            if isSeen { key["seen_since"] = .integer(1000) }
            let document: JSONObject = ["issuer": .string("https://id.example"), "keys": .array([.object(key)])]
            try self.write("keys", JSON.object(document).serialized)
        }

        func verdict(_ file: String = "receipt", content: String = "content", keys: String = "keys") throws
            -> ReceiptVerdict
        {
            let command = try ReceiptCommand.Verify.parse([
                self.folder + "/" + file, "--content", self.folder + "/" + content, "--keys",
                self.folder + "/" + keys,
            ])
            return command.verdict()
        }
    }

    @Test("A good receipt has exit code 0, and its claims are shown in a form that is safe for a terminal")
    func good() throws {
        let files = try Files()
        let verdict = try files.verdict()
        #expect(verdict.status == nil && verdict.json["verdict"] == .string("good"))
        #expect(verdict.text.hasPrefix("verdict: good\n") && !verdict.text.contains("\u{1B}"))
        #expect(try verdict.json.string("digest")?.count == 43)
    }

    @Test("A refused receipt has exit code 1 and the code of the reason")
    func refused() throws {
        let files = try Files()
        try files.write("other", Array("Pay 920 EUR".utf8))
        let verdict = try files.verdict(content: "other")
        #expect(verdict.status == .failed && verdict.json["verdict"] == .string("refused"))
        #expect(verdict.json["code"] == .string("content-differs"))
        #expect(try files.verdict("content").json["code"] == .string("receipt-malformed"))
    }

    @Test("A receipt whose key was seen, and a file that cannot be read, give no verdict: exit code 6")
    func none() throws {
        let files = try Files()
        try files.writeKeys(isSeen: true)
        let verdict = try files.verdict()
        #expect(verdict.status == .noVerdict && verdict.json["verdict"] == .string("needs-trail"))
        #expect(verdict.json["digest"] != nil)
        #expect(try files.verdict("missing").status == .noVerdict)
        #expect(try files.verdict("missing").json["verdict"] == .string("none"))
        try files.write("long", [UInt8](repeating: 0x61, count: 256 * 1024 + 1))
        #expect(try files.verdict("long").status == .noVerdict)
        #expect(try files.verdict(keys: "content").status == .noVerdict)
        #expect(try files.verdict(keys: "content").json["code"] == nil)
    }
}
