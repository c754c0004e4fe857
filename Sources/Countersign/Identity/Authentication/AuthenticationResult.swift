import Ceremony
public import Foundation
import _Primitives

/// The result of an authentication. The way in which the authentication began determines the case;
/// ``lockout(lockoutInformation:authenticationUserInformation:)`` is always possible.
public enum AuthenticationResult: Sendable {
    /// A browser, or another app, is signed in. If ``UserLoginResult/returnAddress`` is not `nil`, the app must open
    /// the address; otherwise the app has nothing more to do.
    case userLogin(UserLoginResult)
    /// This app is signed in. Continue with ``Authenticator/fetchAuthorizationCode(_:)``.
    case serviceLogin(ServiceLoginResult)
    /// The app may add a factor: ``Personalizer/finishAddAuthenticationFactor(request:)``.
    case apiAccessAddFactor(ApiAccessAddFactor)
    /// The app may change the PIN: ``Personalizer/finishChangePin(request:)``.
    case apiAccessChangePin(ApiAccessChangePin)
    /// The invitation's account is now part of the person's own account. Tell the person that the invitation's code is
    /// void.
    case apiAccessMergeComplete(idmIdentifier: String)
    /// The app may request an activation for another device: ``Personalizer/finishRequestNewActivationData(_:)``.
    case apiAccessRequestNewActivationData(ApiAccessRequestNewActivationData)
    /// The app may delete the account: ``Personalizer/finishDeletion(request:)``.
    case apiAccessDelete(ApiAccessDelete)
    /// A factor was wrong or missing; the server does not reveal the factor. After the lockout, the person signs
    /// everything again with the same object, which holds no signatures any more. If the lockout is permanent, or
    /// longer than the session lives, the process is over: signing then throws `sessionExpired`.
    case lockout(
        lockoutInformation: LockoutInformation, authenticationUserInformation: AuthenticationUserInformation)
}

/// The sign-in of a person at a service, to be shown.
public struct UserLoginResult: Hashable, Sendable {
    /// The service's name.
    public let relyingPartyName: String
    /// The service's web origin.
    public let relyingPartyURL: String
    /// The name of the role.
    public let roleName: String
    /// The time at which the server accepted the factors.
    public let finishedAt: Date
    /// The address that the app must open now, in the browser of this device. `nil` for a login that began elsewhere.
    ///
    /// A login that was begun by a link is complete only when the browser that has shown the link is back at this
    /// address.
    public let returnAddress: URL?

    init(_ session: AcceptedSession) {
        self.returnAddress = session.location.flatMap { URL(string: $0) }
        self.relyingPartyName = DisplayText.line(session.service.name)
        self.relyingPartyURL = DisplayText.origin(session.service.origin)
        self.roleName = DisplayText.line(session.roleName)
        self.finishedAt = Date(session.finishedAt)
    }
}

/// The permission for this app to fetch its authorization code, once and soon.
public struct ServiceLoginResult: IdentitySessionHolder {
    /// The session of the process.
    public let identitySession: IdentitySession
    /// The sign-in of the person at the service, to be shown.
    public let login: UserLoginResult
    /// The server's identifier.
    public var idmIdentifier: String { self.identitySession.claimed.server }
    /// The latest time at which the app can fetch the code, by the server's clock; `nil` if the server states no time.
    public let validUntil: Date?
    /// The request for the code that was sent and whose answer was lost.
    let unanswered = UnansweredRequests<Void>()

    init(_ session: IdentitySession, _ accepted: AcceptedSession) {
        self.identitySession = session
        self.login = UserLoginResult(accepted)
        self.validUntil = accepted.continuesUntil.map { Date($0) }
    }
}
