import Ceremony
import Records
import UAF
import UAFRelyingParty
import _Primitives

/// The origin of a sealed state: a ceremony, or a request without a ceremony.
enum ServerDataOrigin: Equatable {
    case ceremony(String)
    /// A challenge without a row, by a named policy or by the default policy.
    case open(policy: String?)

    var text: String {
        switch self {
        case .ceremony(let id): "ceremony \(id)"
        case .open(nil): "open"
        case .open(let name?): "open \(name)"
        }
    }

    init?(_ text: String) {
        if text == "open" {
            self = .open(policy: nil)
        } else if text.hasPrefix("open ") {
            self = .open(policy: String(text.dropFirst("open ".count)))
        } else if text.hasPrefix("ceremony ") {
            self = .ceremony(String(text.dropFirst("ceremony ".count)))
        } else {
            return nil
        }
    }
}

extension CeremonyDetail {
    /// The transaction for the person's agreement, in the form of the message.
    var transaction: [Transaction] {
        guard let content = self.content, let contentType = self.contentType else { return [] }
        var transaction = Transaction(contentType: Transaction.ContentType(rawValue: contentType), content: content)
        if transaction.contentType == .imagePNG {
            // The same bytes were checked at the dispatch.
            transaction.pngCharacteristics = try? DisplayPNGCharacteristics(ofPNG: content)
        }
        return [transaction]
    }

    /// The requester, for the phone's screen; `nil` if nothing is known.
    var requester: ReturnUAFRequest.Requester? {
        let requester = ReturnUAFRequest.Requester(
            service: self.service, origin: self.origin, address: self.address,
            browser: self.browser, browserID: self.browserID, channelLinking: self.channelLinking)
        return requester == ReturnUAFRequest.Requester() ? nil : requester
    }
}

extension RegisteredCredential {
    /// Creates the verifier's form of a stored key. Throws `corrupt` for a name that no standard key can have, and for
    /// unreadable evidence of the attestation or unreadable picture displays.
    init(_ record: CredentialRecord) throws {
        guard let aaid = try? AAID(record.aaid), let keyID = try? KeyID(record.keyID) else {
            throw StoreError(.corrupt, "a stored key without a proper name")
        }
        guard let attestation = try? AttestationEvidence(stored: record.attestation) else {
            throw StoreError(.corrupt, "a stored key whose attestation cannot be read")
        }
        guard let displays = try? [DisplayPNGCharacteristics](stored: record.pictureDisplays) else {
            throw StoreError(.corrupt, "a stored key whose displays cannot be read")
        }
        self.init(
            id: CredentialID(aaid: aaid, keyID: keyID), publicKey: record.publicKey,
            publicKeyFormat: PublicKeyFormat(rawValue: record.keyFormat),
            signatureAlgorithm: SignatureAlgorithm(rawValue: record.algorithm), signCounter: record.counter,
            account: record.accountID, deviceRegistration: record.deviceID, attestation: attestation,
            pictureDisplays: displays)
    }
}

extension [DisplayPNGCharacteristics] {
    /// The stored form, beside a key.
    var stored: [UInt8] { self.isEmpty ? [] : JSON.array(self.map(\.json)).serialized }

    init(stored bytes: [UInt8]) throws {
        self = []
        guard !bytes.isEmpty else { return }
        guard case .array(let displays) = try JSON(parsing: bytes) else { throw UAFError(.wrongType, "displays") }
        self = try displays.map { display in
            guard case .object(let object) = display else { throw UAFError(.wrongType, "a display") }
            return try DisplayPNGCharacteristics(json: object)
        }
    }
}
