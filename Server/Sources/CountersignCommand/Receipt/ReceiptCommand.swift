import ArgumentParser
import Ceremony
import CeremonyEngine
import Foundation
import Settings
import _Primitives

/// `countersign receipt`: receipts of confirmed transactions in files, without a server, a network or a database.
struct ReceiptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt",
        abstract: "Judge receipts of confirmed transactions that lie in files.",
        subcommands: [Verify.self]
    )

    /// `countersign receipt verify`: the verdict on a receipt, with the reason of a refusal.
    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Say if a receipt is one of a server, about this content.",
            discussion: """
                The file is a receipt (a compact JWS), or a person's copy with the evidence. The keys are what the server \
                shows at /receipts/keys: keep them beside the receipts. Nothing else is asked, and no key that a receipt \
                brings is trusted.

                  countersign receipt verify receipt.jws --content transfer.txt --keys receipt-keys.json

                Exit codes: 0 the receipt is good, 1 refused, 2 usage, 6 no verdict: a file cannot be read, the file of \
                keys has none, or others may have seen the key. A receipt of a seen key needs the audit trail: it is good \
                if `countersign audit list` has an event receipt-issued with the digest that is printed.
                """
        )

        @Argument(help: "File with the receipt, or with a person's copy.")
        var file: String

        @Option(help: "File with the content that was confirmed, byte by byte.")
        var content: String

        @Option(help: "File with the server's keys for receipts.")
        var keys: String

        @Flag(help: "Print one JSON object instead of text.")
        var json = false

        func run() throws {
            let verdict = self.verdict()
            if self.json {
                Terminal.standardOutput(json: .object(verdict.json))
            } else {
                Terminal.standardOutput(verdict.text)
            }
            if let status = verdict.status { throw ExitCode(status.rawValue) }
        }

        /// Returns the verdict on the files. Without a verdict the result has the reason.
        func verdict() -> ReceiptVerdict {
            do {
                let verification = try ReceiptVerification(keys: try Self.bytes(self.keys))
                return ReceiptVerdict(
                    try verification.verify(try Self.bytes(self.file), content: try Self.bytes(self.content)))
            } catch let refusal as ReceiptRefusal where refusal.code == .keysMalformed {
                // Without keys nothing was judged: the file of keys says nothing about the receipt.
                return ReceiptVerdict(
                    without: CommandFailure(.noVerdict, "\(self.keys) has no keys for receipts: \(refusal.reason)"))
            } catch let refusal as ReceiptRefusal {
                return ReceiptVerdict(refusal)
            } catch let failure as CommandFailure {
                return ReceiptVerdict(without: failure)
            } catch { return ReceiptVerdict(without: CommandFailure(.noVerdict, "\(error)")) }
        }

        private static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw CommandFailure(.noVerdict, "\(path) cannot be read")
            }
            defer { try? file.close() }
            guard let data = try? file.read(upToCount: Limits.Commands.receiptFileBytes + 1) ?? Data() else {
                throw CommandFailure(.noVerdict, "\(path) cannot be read")
            }
            guard data.count <= Limits.Commands.receiptFileBytes else {
                throw CommandFailure(.noVerdict, "\(path) has more than \(Limits.Commands.receiptFileBytes) bytes")
            }
            return Array(data)
        }
    }
}

/// The result of `countersign receipt verify`: members for scripts, and lines for people, made of the same members.
struct ReceiptVerdict {
    /// The exit code of the command; `nil` for a good receipt.
    let status: CommandFailure.Status?
    let json: JSONObject

    /// Creates a result without a verdict: a file could not be read.
    init(without failure: CommandFailure) {
        self.status = .noVerdict
        self.json = ["verdict": .string("none"), "reason": .string(failure.problem)]
    }

    init(_ refusal: ReceiptRefusal) {
        self.status = .failed
        self.json = [
            "verdict": .string("refused"), "code": .string(refusal.code.description),
            "reason": .string(refusal.reason),
        ]
    }

    init(_ receipt: VerifiedReceipt) {
        self.status = receipt.needsTrail ? .noVerdict : nil
        self.json = [
            "verdict": .string(receipt.needsTrail ? "needs-trail" : "good"), "digest": .string(receipt.digest),
            "evidence": .bool(receipt.hasEvidence), "claims": .object(receipt.claims),
        ]
    }

    /// The result as text: a line for each member, safe for a terminal.
    var text: String {
        func line(_ name: String, _ value: JSON) -> String {
            if case .string(let text) = value { "\(name): \(DisplayText.line(text))" } else { "\(name): \(value.text)" }
        }
        return self.json.members.flatMap { name, value -> [String] in
            guard name == "claims", case .object(let claims) = value else { return [line(name, value)] }
            return claims.members.map { line($0.name, $0.value) }
        }.joined(separator: "\n")
    }
}
