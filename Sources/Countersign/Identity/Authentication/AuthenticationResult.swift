import Ceremony
public import Foundation
import _Primitives

/// What came of an authentication. Which of them is decided by how it was begun; ``lockout(lockoutInformation:authenticationUserInformation:)``
/// can always come.
public enum AuthenticationResult: Sendable {
    /// A browser, or another app, is signed in. Nothing more is to be done.
    case userLogin(UserLoginResult)
    /// This app is signed in: ``Authenticator/fetchAuthorizationCode(_:)``.
    case serviceLogin(ServiceLoginResult)
    /// A factor may be added: ``Personalizer/finishAddAuthenticationFactor(request:)``.
    case apiAccessAddFactor(ApiAccessAddFactor)
    /// The PIN may be changed: ``Personalizer/finishChangePin(request:)``.
    case apiAccessChangePin(ApiAccessChangePin)
    /// The invitation's account is part of the person's own now: tell them that the invitation's code is void.
    case apiAccessMergeComplete(idmIdentifier: String)
    /// Another device may be given an activation: ``Personalizer/finishRequestNewActivationData(_:)``.
    case apiAccessRequestNewActivationData(ApiAccessRequestNewActivationData)
    /// The account may be deleted: ``Personalizer/finishDeletion(request:)``.
    case apiAccessDelete(ApiAccessDelete)
    /// A factor was wrong or missing; which, nobody says. After the rest everything is signed again, with the same object,
    /// which holds no signature any more.
    case lockout(
        lockoutInformation: LockoutInformation, authenticationUserInformation: AuthenticationUserInformation)
}

/// Who was signed in where, to be shown.
public struct UserLoginResult: Hashable, Sendable {
    /// The service's name.
    public let relyingPartyName: String
    /// The service's web origin.
    public let relyingPartyURL: String
    /// The name of the role.
    public let roleName: String
    /// When the server accepted the factors.
    public let finishedAt: Date
    /// The address that the app has to open now, in the browser of this device: where the login was begun by a link, it is
    /// done once the browser that has shown the link is back. `nil` for a login that began elsewhere.
    public let returnAddress: URL?

    init(_ session: AcceptedSession) {
        self.returnAddress = session.location.flatMap { URL(string: $0) }
        self.relyingPartyName = DisplayText.line(session.service.name)
        self.relyingPartyURL = DisplayText.origin(session.service.origin)
        self.roleName = DisplayText.line(session.roleName)
        self.finishedAt = Date(session.finishedAt)
    }
}

/// That this app may fetch its authorization code, once and soon.
public struct ServiceLoginResult: IdentitySessionHolder {
    /// The process.
    public let identitySession: IdentitySession
    /// Who was signed in where, to be shown.
    public let login: UserLoginResult
    /// The server.
    public var idmIdentifier: String { self.identitySession.claimed.server }
    /// Until when the code can be fetched, by the server's clock.
    public let validUntil: Date?
    /// The request for the code that has left, where its answer was lost.
    let unanswered = UnansweredRequests<Void>()

    init(_ session: IdentitySession, _ accepted: AcceptedSession) {
        self.identitySession = session
        self.login = UserLoginResult(accepted)
        self.validUntil = accepted.continuesUntil.map { Date($0) }
    }
}
