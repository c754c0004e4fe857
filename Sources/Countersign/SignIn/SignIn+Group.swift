import Ceremony
import JOSE
import OAuth
import _Primitives

extension SignIn {
    /// `true` if another app of the same maker has left credentials on this device with which this app can sign in. The
    /// property uses no dialog and no network. Throws ``SignInError`` `storageError`.
    public var canUseGroup: Bool {
        get throws {
            do { return try self.core.store.group() != nil } catch { throw SignInError.translating(error) }
        }
    }

    /// Signs in with the credentials that another app of the same maker has left on this device (OpenID Connect Native
    /// SSO for Mobile Apps 1.0): its ID token and the device's secret, in the storage that both apps share. The person
    /// types nothing.
    ///
    /// Both apps belong to one group at the server. If the person must agree to something for this app, the function
    /// throws `browserNeeded`, and the browser asks the person. If the server no longer accepts the credentials, they
    /// are deleted (`sessionEnded`).
    ///
    /// - Parameter offer: The same as in ``withBrowser(offeringBiometrics:)``.
    public func withGroup(offeringBiometrics offer: BiometricOffer? = nil) async throws {
        let recording = self.core.server.newRecording()
        try await Self.running {
            let configuration = self.core.configuration
            guard configuration.face == .openID, let issuer = configuration.issuer else {
                throw SignInError(.misconfigured, "apps sign in by each other at the OpenID face alone")
            }
            guard let group = try self.core.store.group() else {
                throw SignInError(.notSignedIn, "no app has left anything")
            }
            let form = FormRequest(
                path: "/oauth2/token",
                parameters: [
                    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                    "client_id": configuration.clientID,
                    "audience": issuer, "scope": configuration.scopes.joined(separator: " "),
                    "subject_token": group.idToken,
                    "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
                    "actor_token": group.deviceSecret,
                    "actor_token_type": "urn:openid:params:token-type:device-secret",
                ])
            let key = try ProofKey.make(random: self.core.platform.random)
            guard let tokens = try await self.core.given(form, key: key.signing, recording) else {
                try? self.core.store.removeGroup(by: group.deviceSecret)
                throw SignInError(.sessionEnded, "the other app's sign-in has ended")
            }
            try configuration.check(tokens.idToken, nonce: nil)
            try await self.begin(tokens, provenBy: key, offer, recording)
        }
    }
}

extension SignInCore {
    /// Returns the server's tokens for another app's sign-in; `nil` if the other app's sign-in has ended.
    fileprivate func given(_ form: FormRequest, key: SigningKey, _ recording: Recording) async throws -> IssuedTokens? {
        do {
            return try await self.issued(form, key: key, recording, noting: .sessionWanted)
        } catch let error as SignInError where error.code == .refused {
            switch ExactText(error.serverCode ?? "") {
            case "invalid_scope", "interaction_required", "consent_required":
                throw SignInError(.browserNeeded, serverCode: error.serverCode)
            case "unauthorized_client": throw SignInError(.misconfigured, serverCode: error.serverCode)
            default: throw error
            }
        }
    }
}
