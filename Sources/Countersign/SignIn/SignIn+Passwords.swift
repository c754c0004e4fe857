import Ceremony
import JOSE
public import UAFClient
import _Primitives

extension SignIn {
    /// Returns `true` if the name and the password can be sent. While either is empty, an app's sign-in button does
    /// nothing.
    public static func canSubmit(username: String, password: String) -> Bool {
        TypedCredentials(username: username, password: password).areWhole
    }

    /// Signs in with the name and password that the person has typed. Meant for an app of the server's own operator:
    /// any other app uses the browser, so that only the server sees a password.
    ///
    /// The function first deletes an earlier saved name and password. If the person wants to use finger or face next
    /// time, both texts are saved behind the finger or face before they are sent. They count as saved only after the
    /// server has accepted them and the device has noted this; after any other result they are deleted again. Empty the
    /// password's field when the function returns or throws, as ``PasswordForm`` does.
    ///
    /// - Parameters:
    ///   - username: The person's name at the server.
    ///   - password: The person's password.
    ///   - offer: Called before anything is sent, if a finger or a face is enrolled and the person has not been asked
    ///     before; with `nil` the person is not asked.
    ///   - secondFactor: Asks for a code of the person's authenticator app, if the server requires a code. After five
    ///     wrong codes the sign-in ends (`wrongSecondFactor`).
    public func withPassword(
        username: String, password: String, offeringBiometrics offer: BiometricOffer? = nil,
        secondFactor: SecondFactorPrompt? = nil
    ) async throws {
        let credentials = TypedCredentials(username: username, password: password)
        guard credentials.areWhole else { throw SignInError(.wrongCredentials, "nothing was typed") }
        let recording = self.core.server.newRecording()
        recording.note(.credentialsEntered)
        try await Self.showing(recording) {
            let store = self.core.store
            try await store.alone { try store.removeCredentials() }
            var saved: (sealed: String, key: JWK)?
            if try await self.biometricsWanted(offer, recording) {
                recording.note(.credentialsSaved)
                saved = try await self.save(credentials)
            }
            do {
                let used = saved.map { UsedCredentials(key: $0.key, formerSession: nil) }
                try await self.signIn(credentials, by: used, secondFactor, recording)
            } catch {
                // The app needs the reason of the failure. The next start deletes texts that cannot be deleted now.
                try? await self.judge(saved?.sealed, areGood: false)
                throw error
            }
            // The person is signed in. The next start deletes texts that cannot be marked as accepted now.
            try? await self.judge(saved?.sealed, areGood: true)
        }
    }

    /// Signs in with the saved name and password, after a finger or a face. The person is asked once. The session that
    /// began with the same credentials in an earlier process of the app ends at the server.
    ///
    /// If the server no longer accepts the name and password, they are deleted (`wrongCredentials`): show the fields.
    /// If the enrolled fingers or faces have changed, the name and password are deleted too (`biometricsChanged`).
    public func withSavedPassword(
        prompt: SystemPrompt = SystemPrompt(), secondFactor: SecondFactorPrompt? = nil
    ) async throws {
        let recording = self.core.server.newRecording()
        try await Self.showing(recording) {
            let store = self.core.store
            recording.note(.credentialsSought)
            guard let saved = try store.credentials(), saved.isGood, let box = store.credentialsBox else {
                throw SignInError(.notSignedIn, "no password is saved")
            }
            recording.note(.credentialsFound)
            do {
                recording.note(.biometricsAsked)
                let opened = try await box.open(prompt)
                recording.note(.biometricsGiven)
                recording.note(.credentialsUnlocked)
                guard let credentials = TypedCredentials(text: try opened.read(saved.sealed)) else {
                    throw SignInError(.notSignedIn, "what was saved is none")
                }
                recording.note(.credentialsReleased)
                // The sign-in continues even if the data of the former session cannot be read.
                let former = saved.formerSession.flatMap { try? opened.read($0) }.flatMap(FormerSession.init(text:))
                let used = opened.publicKey.map { UsedCredentials(key: $0, formerSession: former) }
                try await self.signIn(credentials, by: used, secondFactor, recording)
            } catch let error as SignInError
                where [.wrongCredentials, .biometricsChanged, .notSignedIn].contains(error.code)
            {
                try? await self.judge(saved.sealed, areGood: false)
                throw error
            }
        }
    }

    /// Saves the name and password before the server has judged them. Returns their stored form, and the key to which
    /// they are encrypted.
    private func save(_ credentials: TypedCredentials) async throws -> (sealed: String, key: JWK) {
        let (core, store) = (self.core, self.core.store)
        guard let box = store.credentialsBox else { throw SignInError(.biometricsUnavailable, "no biometric keys") }
        return try await store.alone {
            let key = try await box.makeKey(guardedBy: core.guardian)
            do {
                let sealed = try GuardedBox.seal(credentials.text, to: key, random: core.platform.random)
                try store.setCredentials(SignInStore.SavedCredentials(sealed: sealed, isGood: false))
                return (sealed, key)
            } catch {
                // A key that guards nothing would stay on the device.
                try? store.removeCredentials()
                throw error
            }
        }
    }

    /// Applies the server's judgement to the saved credentials that were judged. The judgement does not apply to other
    /// credentials that another sign-in may have saved since.
    private func judge(_ saved: String?, areGood: Bool) async throws {
        guard let saved else { return }
        let store = self.core.store
        try await store.alone {
            guard var credentials = try store.credentials(), credentials.sealed.hasSameBytes(as: saved) else { return }
            credentials.isGood = true
            if areGood { try store.setCredentials(credentials) } else { try store.removeCredentials() }
        }
    }

    private func signIn(
        _ credentials: TypedCredentials, by used: UsedCredentials?, _ secondFactor: SecondFactorPrompt?,
        _ recording: Recording
    ) async throws {
        let key = try ProofKey.make(random: self.core.platform.random)
        let tokens = try await PasswordSignIn(core: self.core, recording: recording, secondFactor: secondFactor)
            .tokens(for: credentials, provingBy: key.signing)
        // The name and password reopen the session if the person wants so; the session itself is not kept.
        try await self.core.begin(tokens, provenBy: key, keeping: false, by: used, recording)
    }
}
