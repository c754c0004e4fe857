import Ceremony
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What an authentication begins with: from a code or a link, from the app's own service, or from a process of
/// ``Personalizer`` that a person has to confirm.
///
/// Two are equal where they begin the same from the same kind of place: of one code, all links have equal data.
public struct AuthenticationInitializationData: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The server.
    public let idmIdentifier: String
    /// Until when it can be begun, by the server's clock.
    public let expiresAt: Date
    /// Whether it came in a link, so that another app, or a page, may have opened it: ask the person whether they began it.
    public let isFromLink: Bool
    let session: String
    let claim: SecretBytes
    /// What has to come of it; `nil` where whoever made the code has decided.
    let purpose: SessionDocument.Purpose?
    /// The key of the finger or face that another takes the place of.
    let replaces: KeyID?

    init(_ code: ProcessCode, isFromLink: Bool) {
        self.idmIdentifier = code.server
        self.expiresAt = Date(code.expiresAt)
        self.isFromLink = isFromLink
        self.session = code.id
        self.claim = code.claim
        self.purpose = nil
        self.replaces = nil
    }

    init(
        _ offer: SessionOffer, at server: String, for purpose: SessionDocument.Purpose, replacing key: KeyID? = nil
    ) {
        self.idmIdentifier = server
        self.expiresAt = Date(offer.expiresAt)
        self.isFromLink = false
        self.session = offer.session
        self.claim = offer.claim
        self.purpose = purpose
        self.replaces = key
    }

    /// Whether it is an operation that the person has begun in this app, with their own account.
    var isOwnOperation: Bool {
        switch self.purpose {
        case nil, .userLogin, .serviceLogin: false
        case .addFactor, .changePin, .newActivation, .delete, .merge: true
        }
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.idmIdentifier.hasSameBytes(as: right.idmIdentifier) && left.session.hasSameBytes(as: right.session)
            && left.claim == right.claim && left.expiresAt == right.expiresAt && left.isFromLink == right.isFromLink
            && left.purpose == right.purpose && left.replaces == right.replaces
    }

    /// Without what the session is claimed with.
    public var description: String { "AuthenticationInitializationData(\(self.idmIdentifier))" }
    /// The server alone.
    public var customMirror: Mirror { Mirror(self, children: ["idmIdentifier": self.idmIdentifier]) }
}

/// What the authentication begins with by which an invitation's account goes into the person's own: it belongs to a
/// personalization that has come as far as its PIN.
public struct AuthenticationInitializationDataWithSession: Sendable {
    /// What to start the authentication with.
    public let data: AuthenticationInitializationData
    /// The server.
    public var idmIdentifier: String { self.data.idmIdentifier }
}

/// What a personalization begins with: from a code or a link that a person was given with an activation PIN.
///
/// Two are equal where they begin the same from the same kind of place: of one code, all links have equal data.
public struct PersonalizationInitializationData: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The server.
    public let idmIdentifier: String
    /// Until when it can be used, by the server's clock.
    public let expiresAt: Date
    /// Whether it came in a link, so that another app, or a page, may have opened it: ask the person whether they began it.
    public let isFromLink: Bool
    let code: ProcessCode

    init(_ code: ProcessCode, isFromLink: Bool) {
        self.idmIdentifier = code.server
        self.expiresAt = Date(code.expiresAt)
        self.isFromLink = isFromLink
        self.code = code
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.isFromLink == right.isFromLink
    }

    /// Without the code's secret.
    public var description: String { "PersonalizationInitializationData(\(self.idmIdentifier))" }
    /// The server alone.
    public var customMirror: Mirror { Mirror(self, children: ["idmIdentifier": self.idmIdentifier]) }
}

/// What a code or a link begins.
public enum ProcessInitializationData: Equatable, Sendable {
    /// ``Authenticator/startAuthentication(data:)-(AuthenticationInitializationData)``
    case authentication(AuthenticationInitializationData)
    /// ``Personalizer/decryptPersonalizationInitializationData(data:pin:)-(_,String)``
    case personalization(PersonalizationInitializationData)

    /// What an authentication begins with, for a screen that begins nothing else.
    ///
    /// Throws ``CountersignError`` `wrongProcess` for the code of an activation: tell the person that it is another code.
    public var authenticationData: AuthenticationInitializationData {
        get throws {
            guard case .authentication(let data) = self else {
                throw CountersignError(.wrongProcess, "the code of an activation")
            }
            return data
        }
    }

    /// What a personalization begins with, for a screen that begins nothing else.
    ///
    /// Throws ``CountersignError`` `wrongProcess` for the code of an authentication: tell the person that it is another code.
    public var personalizationData: PersonalizationInitializationData {
        get throws {
            guard case .personalization(let data) = self else {
                throw CountersignError(.wrongProcess, "the code of an authentication")
            }
            return data
        }
    }

    /// Tells the kinds apart.
    init(_ code: ProcessCode, isFromLink: Bool) {
        switch code.kind {
        case .authentication:
            self = .authentication(AuthenticationInitializationData(code, isFromLink: isFromLink))
        case .activation:
            self = .personalization(PersonalizationInitializationData(code, isFromLink: isFromLink))
        }
    }

    /// The code within what was scanned, typed or opened: a code as it is, or behind the `#` of a link of any scheme.
    static func code(in text: String) -> (text: String, isFromLink: Bool) {
        let trimmed = Self.trimmed(text)
        let parts = trimmed.splitBytes(at: "#", maxSplits: 1)
        return parts.count == 2 ? (String(parts[1]), true) : (String(trimmed), false)
    }

    /// Without the white space of ASCII that pasting leaves around a code.
    private static func trimmed(_ text: String) -> Substring {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        let bytes = text.utf8
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return text[first...last]
    }
}
