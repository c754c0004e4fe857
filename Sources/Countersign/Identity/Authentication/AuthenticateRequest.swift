public import Ceremony
import Foundation
public import PersonalInformation
public import UAF
import _Primitives

/// As what a person can come to a service.
public struct RequestedRole: Hashable, Sendable {
    /// The server's name for it.
    public let id: String
    /// The name, to be shown: one line.
    public let name: String
    /// What to sign with: alternatives, each of which is met by all of its types together. Those that this identity can meet
    /// on this device or, where it can meet none, all of them. Never empty.
    public let requestedAuthenticators: [[AuthenticatorType]]
    /// What this identity lacks for every alternative; empty where it can meet one.
    public let missingAuthenticators: Set<AuthenticatorType>

    /// `nil` where this version knows none of the alternatives.
    init?(_ role: RequestDocument.Role, from enrolled: Set<AuthenticatorType>) {
        guard let matrix = try? AuthenticatorMatrix(names: role.alternatives) else { return nil }
        let request = matrix.request(from: enrolled)
        self.id = role.id
        self.name = DisplayText.line(role.name)
        self.requestedAuthenticators = request.alternatives
        self.missingAuthenticators = request.missing
    }

    public static func == (left: Self, right: Self) -> Bool { left.id.hasSameBytes(as: right.id) }
    public func hash(into hasher: inout Hasher) { self.id.hashBytes(into: &hasher) }
}

/// What a service asks of a person: who asks, as what the person can come, and which data go there.
///
/// Have a role chosen where there are several (``setSelection(_:)``), the attributes confirmed (``info``), and go on with
/// ``Authenticator/prepareAuthenticationUserInformation(request:)``.
// Safe to share: every access to `selected` is within `lock`, and everything else never changes.
public final class AuthenticateRequest: IdentitySessionHolder, @unchecked Sendable, CustomStringConvertible,
    CustomReflectable
{
    /// The process.
    public let identitySession: IdentitySession
    /// What it is for.
    public var purpose: AuthenticationPurpose { self.document.purpose }
    /// As what the person can come; at least one.
    public let roles: [RequestedRole]
    /// What the service asks to know. Its properties are `nil` where it asks for nothing.
    public let info: AuthenticationPersonalInformation
    /// Who asks: the name, to be shown.
    public let serviceName: String
    /// Who asks: the web origin, to be shown, so that a person sees where they are signed in.
    public let serviceURL: String
    /// The server.
    public var idmIdentifier: String { self.identitySession.claimed.server }

    let document: RequestDocument
    /// Whether the person has begun it in this app, with their own account.
    let isOwnOperation: Bool
    /// The answers that have left, where what the server said to them was lost.
    let unanswered = UnansweredRequests<SentAnswers>()
    private let lock = NSLock()
    private var selected: RequestedRole?

    /// Throws ``EngineError`` `unreadable` where this version knows no way to answer in any role.
    init(
        _ document: RequestDocument, _ claimed: ClaimedSession, isOwnOperation: Bool,
        from enrolled: Set<AuthenticatorType>, birthdate: BirthdateValidator
    ) throws {
        self.document = document
        self.isOwnOperation = isOwnOperation
        self.identitySession = IdentitySession(claimed, document.deadlines)
        self.roles = document.roles.compactMap { RequestedRole($0, from: enrolled) }
        guard !self.roles.isEmpty else { throw CountersignError(.protocolVersionUnsupported, "roles") }
        self.info = AuthenticationPersonalInformation(
            document.attributes, rules: document.bounds.rules(birthdate: birthdate))
        self.serviceName = DisplayText.line(document.service.name)
        self.serviceURL = DisplayText.origin(document.service.origin)
        self.selected = self.roles.count == 1 ? self.roles[0] : nil
    }

    /// Takes the role that the person has chosen, and returns it. `nil`, which changes nothing, for `nil` and for a role that
    /// is not among ``roles``: a mistake in the app's code. The only role is chosen already.
    @discardableResult public func setSelection(_ role: RequestedRole?) -> RequestedRole? {
        guard let role, let adopted = self.roles.first(where: { $0 == role }) else { return nil }
        self.lock.withLock { self.selected = adopted }
        return adopted
    }

    /// The role that is chosen.
    var selection: RequestedRole? { self.lock.withLock { self.selected } }

    /// Who asks.
    public var description: String { "AuthenticateRequest(\(self.serviceURL))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// What came of ``Authenticator/prepareAuthenticationUserInformation(request:)``.
public enum PrepareAuthenticationUserInformationResult: Sendable {
    /// Something is wrong with the attributes: the same request, in which each attribute says what. Have it corrected, and
    /// prepare again, a few times.
    case failure(AuthenticateRequest)
    /// Sign it.
    case success(AuthenticationUserInformation)
}
