public import Ceremony
import Foundation
public import PersonalInformation
public import UAF
import _Primitives

/// A role in which the person can authenticate to a service. Two roles are equal if their identifiers are equal.
public struct RequestedRole: Hashable, Sendable {
    /// The server's identifier of the role.
    public let id: String
    /// The name of the role, to be shown: one line.
    public let name: String
    /// The alternative combinations of factors for signing. A combination is complete with all of its types together.
    ///
    /// The list holds the combinations that this identity can complete on this device. If the identity can complete
    /// none, the list holds all combinations. The list is never empty.
    public let requestedAuthenticators: [[AuthenticatorType]]
    /// The factors that this identity lacks, of all alternatives together; empty if the identity can complete an
    /// alternative.
    public let missingAuthenticators: Set<AuthenticatorType>

    /// Creates the role from a role of the server's request; `nil` if this version knows none of the role's
    /// alternatives.
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

/// A service's request to a person: the service, the roles that the person can choose, and the data that the service
/// receives.
///
/// If there are several roles, let the person choose a role (``setSelection(_:)``). Let the person confirm the
/// attributes (``info``), and continue with ``Authenticator/prepareAuthenticationUserInformation(request:)``.
// Safe to share: every access to `selected` is within `lock`, and everything else never changes.
public final class AuthenticateRequest: IdentitySessionHolder, @unchecked Sendable, CustomStringConvertible,
    CustomReflectable
{
    /// The session of the process.
    public let identitySession: IdentitySession
    /// The purpose of the authentication.
    public var purpose: AuthenticationPurpose { self.document.purpose }
    /// The roles in which the person can authenticate; at least one. A role is listed even if this identity lacks
    /// factors for the role: see ``RequestedRole/missingAuthenticators``.
    public let roles: [RequestedRole]
    /// The attributes that the service requests. A property is `nil` if the service does not request the attribute.
    public let info: AuthenticationPersonalInformation
    /// The name of the service, to be shown.
    public let serviceName: String
    /// The web origin of the service, to be shown, so that the person sees the site of the sign-in.
    public let serviceURL: String
    /// The server's identifier.
    public var idmIdentifier: String { self.identitySession.claimed.server }

    let document: RequestDocument
    /// `true` if the person began the operation in this app, with their own account.
    let isOwnOperation: Bool
    /// The answers that were sent and whose reply from the server was lost.
    let unanswered = UnansweredRequests<SentAnswers>()
    private let lock = NSLock()
    private var selected: RequestedRole?

    /// Creates the request from the server's document. Throws ``CountersignError`` `protocolVersionUnsupported` if this
    /// version knows no way to answer in any role.
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

    /// Selects the role that the person has chosen, and returns the role. A request with a single role has that role
    /// selected from the beginning.
    ///
    /// Returns `nil`, and changes nothing, for `nil` and for a role that is not among ``roles``: a mistake in the app's
    /// code.
    @discardableResult public func setSelection(_ role: RequestedRole?) -> RequestedRole? {
        guard let role, let adopted = self.roles.first(where: { $0 == role }) else { return nil }
        self.lock.withLock { self.selected = adopted }
        return adopted
    }

    /// The selected role.
    var selection: RequestedRole? { self.lock.withLock { self.selected } }

    /// The web origin of the service.
    public var description: String { "AuthenticateRequest(\(self.serviceURL))" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The result of ``Authenticator/prepareAuthenticationUserInformation(request:)``.
public enum PrepareAuthenticationUserInformationResult: Sendable {
    /// Some attributes are wrong. The value is the same request, in which each wrong attribute states its error. Let
    /// the person correct the attributes, and prepare again. Only a few corrections are possible.
    case failure(AuthenticateRequest)
    /// The attributes are accepted, and the information is ready to be signed.
    case success(AuthenticationUserInformation)
}
