import Ceremony
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The data that starts an authentication. The data comes from a code or a link, from the app's own service, or from a
/// process of ``Personalizer`` that a person must confirm.
///
/// Two values are equal if they start the same process from the same kind of source: all links of one code have equal
/// data.
public struct AuthenticationInitializationData: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The server's identifier.
    public let idmIdentifier: String
    /// The latest time at which the authentication can start, by the server's clock.
    public let expiresAt: Date
    /// `true` if the data came in a link, so that another app, or a page, may have opened the link. Ask the person if
    /// they began the process.
    public let isFromLink: Bool
    let session: String
    let claim: SecretBytes
    /// The purpose that the authentication must have; `nil` if the maker of the code has decided the purpose.
    let purpose: SessionDocument.Purpose?
    /// The key of the finger or face that a new finger or face replaces.
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

    /// `true` if the person began the operation in this app, with their own account.
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

    /// A description without the secret that claims the session.
    public var description: String { "AuthenticationInitializationData(\(self.idmIdentifier))" }
    /// A mirror with the server's identifier only.
    public var customMirror: Mirror { Mirror(self, children: ["idmIdentifier": self.idmIdentifier]) }
}

/// The data that starts the merging of an invitation's account into the person's own account. The data belongs to a
/// personalization whose PIN was proven.
public struct AuthenticationInitializationDataWithSession: Sendable {
    /// The data with which the authentication starts.
    public let data: AuthenticationInitializationData
    /// The server's identifier.
    public var idmIdentifier: String { self.data.idmIdentifier }
}

/// The data that starts a personalization. The data comes from a code or a link that a person received with an
/// activation PIN.
///
/// Two values are equal if they start the same process from the same kind of source: all links of one code have equal
/// data.
public struct PersonalizationInitializationData: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The server's identifier.
    public let idmIdentifier: String
    /// The latest time at which the code can be used, by the server's clock.
    public let expiresAt: Date
    /// `true` if the data came in a link, so that another app, or a page, may have opened the link. Ask the person if
    /// they began the process.
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

    /// A description without the code's secret.
    public var description: String { "PersonalizationInitializationData(\(self.idmIdentifier))" }
    /// A mirror with the server's identifier only.
    public var customMirror: Mirror { Mirror(self, children: ["idmIdentifier": self.idmIdentifier]) }
}

/// The process that a code or a link starts.
public enum ProcessInitializationData: Equatable, Sendable {
    /// The code starts an authentication:
    /// ``Authenticator/startAuthentication(data:)-(AuthenticationInitializationData)``.
    case authentication(AuthenticationInitializationData)
    /// The code starts a personalization:
    /// ``Personalizer/decryptPersonalizationInitializationData(data:pin:)-(_,String)``.
    case personalization(PersonalizationInitializationData)

    /// The data of an authentication, for a screen that starts only authentications.
    ///
    /// Throws ``CountersignError`` `wrongProcess` for the code of an activation: tell the person that the code is of
    /// another kind.
    public var authenticationData: AuthenticationInitializationData {
        get throws {
            guard case .authentication(let data) = self else {
                throw CountersignError(.wrongProcess, "the code of an activation")
            }
            return data
        }
    }

    /// The data of a personalization, for a screen that starts only personalizations.
    ///
    /// Throws ``CountersignError`` `wrongProcess` for the code of an authentication: tell the person that the code is
    /// of another kind.
    public var personalizationData: PersonalizationInitializationData {
        get throws {
            guard case .personalization(let data) = self else {
                throw CountersignError(.wrongProcess, "the code of an authentication")
            }
            return data
        }
    }

    /// Creates the case for the code's kind.
    init(_ code: ProcessCode, isFromLink: Bool) {
        switch code.kind {
        case .authentication:
            self = .authentication(AuthenticationInitializationData(code, isFromLink: isFromLink))
        case .activation:
            self = .personalization(PersonalizationInitializationData(code, isFromLink: isFromLink))
        }
    }

    /// Returns the code in a scanned, typed or opened text: the text itself, or the part behind the `#` of a link of
    /// any scheme.
    static func code(in text: String) -> (text: String, isFromLink: Bool) {
        let trimmed = Self.trimmed(text)
        let parts = trimmed.splitBytes(at: "#", maxSplits: 1)
        return parts.count == 2 ? (String(parts[1]), true) : (String(trimmed), false)
    }

    /// Returns the text without the ASCII white space that pasting leaves around a code.
    private static func trimmed(_ text: String) -> Substring {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        let bytes = text.utf8
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return text[first...last]
    }
}
