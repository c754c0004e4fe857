import Ceremony
import Foundation
import Records
import Sealing
import Settings
public import UAF
import _Primitives

/// The three codes of one ceremony, with the secrets in clear. The secrets are shown once and kept as
/// digests.
struct DispatchCodes: Sendable {
    /// The token for a QR code, with or without a link. The token may cross devices.
    let qrToken: String
    /// The token for a link. The token differs from the QR code's, so the server knows which of the two a phone used.
    let linkToken: String
    /// The code of letters for typing.
    let typedCode: TypedCode
    let expiresAt: Timestamp

    init(expiresAt: Timestamp, random: RandomSource, limits: Limits) {
        self.qrToken = random.token()
        self.linkToken = random.token()
        self.typedCode = TypedCode(letters: limits.typedCodeLetters, random: random)
        self.expiresAt = expiresAt
    }

    /// Returns the token of the payload that travels over a channel. A typed code is no payload.
    func token(of channel: DispatchChannel) -> String { channel.crossesDevices ? self.qrToken : self.linkToken }

    /// Returns the records of the offered channels.
    func records(_ channels: Set<DispatchChannel>, sealing: Sealing) -> [DispatchTokenRecord] {
        DispatchChannel.allCases.filter(channels.contains).map { channel in
            let digest =
                channel == .typed
                ? sealing.code(self.typedCode.letters, purpose: .typedCode)
                : Sealing.digest(ofSecret: self.token(of: channel))
            return DispatchTokenRecord(digest: digest, channel: channel, expiresAt: self.expiresAt)
        }
    }

    /// Returns the digest by which a token or a typed code is found. A text with the length of a typed code counts as a
    /// typed code.
    static func digest(_ text: String, sealing: Sealing, limits: Limits) -> [UInt8] {
        guard self.isTyped(text, limits: limits) else { return Sealing.digest(ofSecret: text) }
        return sealing.code(TypedCode.letters(of: text), purpose: .typedCode)
    }

    /// `true` if a text could be a typed code, by its length.
    static func isTyped(_ text: String, limits: Limits) -> Bool {
        TypedCode.letters(of: text).count == limits.typedCodeLetters
    }
}

/// The paths at which phones redeem tokens, one for each operation.
public enum RedeemPath: String, CaseIterable, Sendable {
    case registration = "/token/redeem/registration"
    case authentication = "/token/redeem/authentication"
    case deregistration = "/token/redeem/deregistration"

    /// The operation of the request behind the token.
    public var operation: UAF.Operation {
        switch self {
        case .registration: .registration
        case .authentication: .authentication
        case .deregistration: .deregistration
        }
    }
}

extension CeremonyRecord.Kind {
    /// The path for redeeming the ceremony's tokens; `nil` for a ceremony that a phone claims with its own proof.
    var redeemPath: RedeemPath? {
        switch self {
        case .registration: .registration
        case .authentication, .transaction: .authentication
        case .deregistration: .deregistration
        case .identity: nil
        }
    }

    /// The operation that the phone is asked to perform; `nil` if there is none.
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
    /// Returns the payload that carries a token to a phone. `deviceKey` names the encryption key of the only device that
    /// may redeem the token.
    func payload(token: String, kind: CeremonyRecord.Kind, deviceKey: String? = nil) throws -> OutOfBandPayload {
        guard let path = kind.redeemPath, let address = URL(string: self.issuer + path.rawValue),
            let data = try? OutOfBandPayload.RedeemData(token: token, redeemURL: address),
            let payload = try? OutOfBandPayload(redeemData: data, deviceKey: deviceKey)
        else { throw CeremonyError(.invalidRequest, "the configured issuer makes no address for tokens") }
        return payload
    }

    func link(token: String, kind: CeremonyRecord.Kind) throws -> String {
        try self.payload(token: token, kind: kind).link(base: self.issuer)
    }
}
