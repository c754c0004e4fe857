import Ceremony
import Crypto
import Records
import Settings
import UAF
import _Primitives

/// The facts about a new device that another device of the person approves, as the enrolment keeps them until its end.
struct AskingDevice: Equatable {
    /// The number on the new device's screen.
    let number: String
    /// The models of the device's authenticators, in words.
    let model: String
    /// The network from which the device answered; `nil` if unknown.
    let network: String?
    /// The fingerprint of the device's keys.
    let keys: String

    init(number: String, model: String, network: String?, keys: String) {
        self.number = number
        self.model = model
        self.network = network
        self.keys = keys
    }

    /// The text of the model for a person's screen.
    var shownModel: String { DisplayText.name(self.model, length: Limits.Fixed.approvalTextPart) }
    /// The text of the network for a person's screen.
    var shownNetwork: String {
        DisplayText.name(self.network ?? "an unknown network", length: Limits.Fixed.approvalTextPart)
    }

    /// The text that the approving device shows and signs. The text has the fingerprint of the keys, so the signature
    /// covers the new device's keys.
    ///
    /// Throws `TransactionTextError`.
    func text(name: String) throws -> String {
        let marks: Set<Unicode.Scalar> = ["\u{201C}", "\u{201D}", "\u{22}"]
        let inner = String(String.UnicodeScalarView(name.unicodeScalars.map { marks.contains($0) ? "'" : $0 }))
        return try TransactionText(
            normalizing: """
                New device: \u{201C}\(DisplayText.name(inner, length: Limits.Fixed.approvalTextPart))\u{201D}, \(self.shownModel), \
                from \(self.shownNetwork). It can sign in as you. Decline unless you hold it. Keys \(self.keys)
                """
        ).text
    }

    /// Returns the fingerprint of a new device's keys: 128 bits of the SHA-256 of the registered keys and of the keys by
    /// which the device speaks for itself, in base64url.
    static func fingerprint(of registration: DeviceRegistration) -> String {
        var lines = ["countersign.device-approval.1"]
        lines += registration.credentials.map { key in
            "\(key.aaid) \(Base64URL.encode(key.keyID)) \(Base64URL.encode(key.publicKey))"
        }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        lines += registration.identity.map { [$0.signing.name, $0.encryption.name] } ?? []
        return Base64URL.encode(Array(SHA256.hash(data: Array(lines.joined(separator: "\n").utf8)).prefix(16)))
    }

    /// The bytes for ``CeremonyRecord/progress``.
    var stored: [UInt8] {
        var object: JSONObject = [
            "number": .string(self.number), "model": .string(self.model), "keys": .string(self.keys),
        ]
        object["network"] = self.network.map(JSON.string)
        return JSON.object(object).serialized
    }

    /// Reads the facts that an enrolment keeps; `nil` if no device has answered, or the enrolment has ended. Throws
    /// `StoreError` `corrupt`.
    init?(of record: CeremonyRecord) throws {
        guard record.phase == .answering, let stored = record.progress else { return nil }
        do {
            guard case .object(let object) = try JSON(parsing: stored) else {
                throw StoreError(.corrupt, "the facts about a new device")
            }
            self.init(
                number: try object.requiredString("number"), model: try object.requiredString("model"),
                network: try object.string("network"), keys: try object.requiredString("keys"))
        } catch is JSONError {
            throw StoreError(.corrupt, "the facts about a new device")
        }
    }
}
