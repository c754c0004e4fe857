import ArgumentParser
import Ceremony
import Countersign
import Foundation
import _Primitives

/// `countersign-phone receipts`: shows what the person of an account has confirmed, and saves the person's copies.
struct ReceiptsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipts", abstract: "Show what you have confirmed for services, and save your copies.",
        discussion: """
            The phone proves by itself which phone it is. Only where the server does not know the phone's own keys, you \
            authenticate first. A saved copy is a file of JSON: `countersign receipt verify` judges it, with the content \
            and the server's keys for receipts. Services have no such copy: keep it to yourself until there is a dispute.
            """)

    @Argument(help: "The account's name.")
    var username: String

    @Option(help: "The folder for the copies, a file for each: receipt-SESSION.json.")
    var save: String?

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running { try await self.run(on: try PhoneDevice(self.phone), report) }
    }

    /// Does the same on a phone that is switched on.
    func run(on device: PhoneDevice, _ report: Report) async throws {
        let folder = try self.save.map { try ReceiptFolder(path: ($0 as NSString).expandingTildeInPath) }
        let person = OwnPerson(username: self.username, answers: self.answers, phone: self.phone)
        let receipts = try await person.asking(on: device, report) { client, provider -> [TransactionReceipt] in
            let operation = client.operations.transactionReceipts.username(self.username)
            return try await (provider.map(operation.authorizationProvider) ?? operation).execute()
        }.answer
        for receipt in receipts { Self.show(receipt, savedAs: try folder?.save(receipt), report) }
        report.say([
            "event": .string("finished"), "outcome": .outcome(.listed), "account": .string(self.username),
        ]) { if receipts.isEmpty { $0.print("You have confirmed nothing.") } }
    }

    private static func show(_ receipt: TransactionReceipt, savedAs file: String?, _ report: Report) {
        let hash = Base64URL.encode(receipt.contentHash)
        var members: JSONObject = [
            "event": .string("receipt"), "id": .string(receipt.id), "service": .string(receipt.service),
            "at": .string(ActivityCommand.machineText(receipt.date)), "contentHash": .string(hash),
            "contentType": .string(receipt.contentType), "methods": .array(receipt.methods.map(JSON.string)),
        ]
        members.set("origin", receipt.origin)
        members.set("file", file)
        report.say(members) { terminal in
            terminal.print("  \(ActivityCommand.humanText(receipt.date))  \(receipt.service)")
            var rows = [(name: "  Content", value: "\(receipt.contentType), SHA-256 \(hash)")]
            if let origin = receipt.origin { rows.insert(("  For", origin), at: 0) }
            rows += [("  By", receipt.methods.joined(separator: " ")), ("  Session", receipt.id)]
            if let file { rows.append(("  Saved as", DisplayText.line(file))) }
            terminal.list(rows)
        }
    }
}

/// The folder of a person's copies of receipts. Only the person's own user of the machine can read the files.
private struct ReceiptFolder {
    let path: String

    /// Makes the folder if there is none. Throws ``Refusal`` `not-saved` if the folder cannot be made.
    init(path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw Self.notSaved(path) }
    }

    /// Saves a copy, and returns the path of the file. A file of the same receipt is replaced.
    ///
    /// Throws ``Refusal`` `not-saved`.
    func save(_ receipt: TransactionReceipt) throws -> String {
        let file = "\(self.path)/receipt-\(receipt.id).json"
        guard
            FileManager.default.createFile(
                atPath: file, contents: Data(receipt.copy), attributes: [.posixPermissions: 0o600])
        else { throw Self.notSaved(file) }
        return file
    }

    private static func notSaved(_ path: String) -> Refusal {
        .failed("not-saved", "\(DisplayText.line(path)) cannot be written.")
    }
}
