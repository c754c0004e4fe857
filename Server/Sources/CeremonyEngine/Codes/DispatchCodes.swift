import Ceremony
import Foundation
public import Store
public import UAF
import _Primitives

/// The three forms of an invitation to one ceremony, with the secrets in clear. They are shown once and kept as
/// digests.
struct DispatchCodes: Sendable {
    /// A token for a QR code, with a link or without. It may cross devices.
    let qrToken: String
    /// A token for a link. It is another one, so that the server knows which of the two a phone used.
    let linkToken: String
    /// Letters to type.
    let typedCode: TypedCode
    let expiresAt: Timestamp

    init(expiresAt: Timestamp, random: RandomSource, limits: Limits) {
        self.qrToken = random.token()
        self.linkToken = random.token()
        self.typedCode = TypedCode(letters: limits.typedCodeLetters, random: random)
        self.expiresAt = expiresAt
    }

    /// The records of the channels that are offered.
    func records(_ channels: Set<CeremonyRecord.Channel>, sealing: Sealing) -> [DispatchTokenRecord] {
        CeremonyRecord.Channel.allCases.filter(channels.contains).map { channel in
            let digest =
                switch channel {
                case .qrCode, .linkQRCode: Sealing.digest(ofSecret: self.qrToken)
                case .link: Sealing.digest(ofSecret: self.linkToken)
                case .typed: sealing.code(self.typedCode.letters, purpose: .typedCode)
                }
            return DispatchTokenRecord(digest: digest, channel: channel, expiresAt: self.expiresAt)
        }
    }

    /// The digest by which a token or a typed code is found: a code of the typed code's length is one.
    static func digest(_ text: String, sealing: Sealing, limits: Limits) -> [UInt8] {
        guard self.isTyped(text, limits: limits) else { return Sealing.digest(ofSecret: text) }
        return sealing.code(TypedCode.letters(of: text), purpose: .typedCode)
    }

    /// Whether a text could be a typed code, by its length.
    static func isTyped(_ text: String, limits: Limits) -> Bool {
        TypedCode.letters(of: text).count == limits.typedCodeLetters
    }
}

/// Where phones redeem tokens: a path for each operation.
public enum RedeemPath: String, CaseIterable, Sendable {
    case registration = "/token/redeem/registration"
    case authentication = "/token/redeem/authentication"
    case deregistration = "/token/redeem/deregistration"

    /// What the request behind the token asks for.
    public var operation: UAF.Operation {
        switch self {
        case .registration: .registration
        case .authentication: .authentication
        case .deregistration: .deregistration
        }
    }
}

extension CeremonyRecord.Kind {
    /// Where the ceremony's tokens are redeemed; `nil` for those that a phone claims with a proof of its own.
    var redeemPath: RedeemPath? {
        switch self {
        case .registration: .registration
        case .authentication, .transaction: .authentication
        case .deregistration: .deregistration
        case .identity: nil
        }
    }

    /// The operation that the phone is asked for; `nil` where it is asked for none.
    var operation: UAF.Operation? {
        switch self {
        case .registration: .registration
        case .authentication, .transaction: .authentication
        case .deregistration: .deregistration
        case .identity: nil
        }
    }
}

extension CeremonyConfiguration {
    /// The link that carries a token to a phone.
    func payload(token: String, kind: CeremonyRecord.Kind) throws -> OutOfBandPayload {
        guard let path = kind.redeemPath, let address = URL(string: self.issuer + path.rawValue),
            let data = try? OutOfBandPayload.RedeemData(token: token, redeemURL: address),
            let payload = try? OutOfBandPayload(redeemData: data)
        else { throw CeremonyError(.invalidRequest, "the configured issuer makes no address for tokens") }
        return payload
    }

    func link(token: String, kind: CeremonyRecord.Kind) throws -> String {
        try self.payload(token: token, kind: kind).link(base: self.issuer)
    }
}

extension CeremonyRecord.Channel {
    /// The name in `dispatchChannel` of answers to phones, and the dispatcher's in requests of back ends. A phone that had
    /// its payload from a link goes by it.
    var wireName: String {
        switch self {
        case .qrCode: "png-qr-code"
        case .linkQRCode: "link-png-qr-code"
        case .link: "link"
        case .typed: "typed"
        }
    }

    /// The names that back ends can ask for.
    public static var dispatchers: [String] { Self.allCases.filter { $0 != .typed }.map(\.wireName) }

    /// The channel of a dispatcher; `nil` for none, and for typed codes, which are the sign-in page's alone.
    init?(dispatcher name: String) {
        guard let channel = Self.allCases.first(where: { $0.wireName.hasSameBytes(as: name) }), channel != .typed else {
            return nil
        }
        self = channel
    }
}
