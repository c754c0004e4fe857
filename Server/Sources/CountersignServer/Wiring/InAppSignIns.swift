import CeremonyEngine
import OAuthProvider
import Records
import _Primitives

/// Gives codes to apps that sign their own person in: hands the outcomes of the apps' sessions to the provider. So
/// neither engine knows the other.
struct InAppSignIns: InAppServices {
    let authorizations: InAppAuthorizations

    func service(_ client: String, wish: InAppWish, accountID: String) async throws -> InAppService? {
        try await self.authorizations.service(for: Self.request(client, wish), account: accountID).map {
            InAppService(name: $0.name, origin: $0.origin, needsConsent: $0.needsConsent)
        }
    }

    func code(for login: InAppLogin) async throws -> InAppCode {
        let answer = try await self.authorizations.code(
            for: Self.request(login.client, login.wish),
            outcome: AuthenticationOutcome(
                account: login.accountID, authenticatedAt: login.authenticatedAt, acr: login.assurance,
                amr: login.methods, device: login.deviceID, role: login.role),
            method: AuthenticationRecord.phoneMethod)
        return switch answer {
        case .code(let code): .code(code)
        case .consentRequired: .consentRequired
        case .refused: .refused
        }
    }

    private static func request(_ client: String, _ wish: InAppWish) -> InAppAuthorizations.Request {
        InAppAuthorizations.Request(
            client: client, redirectURI: wish.redirectURI, scope: wish.scope, state: wish.state, nonce: wish.nonce,
            codeChallenge: wish.codeChallenge)
    }
}
