import Ceremony
import JOSE
public import UAFClient
import _Primitives

extension SignIn {
    /// Whether name and password can be sent: while one of them is empty, an app's button to sign in does nothing.
    public static func canSubmit(username: String, password: String) -> Bool {
        TypedCredentials(username: username, password: password).areWhole
    }

    /// Signs in with what the person has typed, for an app of the server's own operator: any other uses the browser, where
    /// nobody but the server sees a password.
    ///
    /// Where the person wants finger or face next time, both are saved behind them before they are sent, and count as saved
    /// once the server has said yes: whatever else comes of it, they are deleted again. Empty the password's field when this
    /// returns or throws, as ``PasswordForm`` does.
    ///
    /// - Parameters:
    ///   - username: The person's name at the server.
    ///   - password: Their password.
    ///   - offer: Asked before anything is sent, where a finger or a face is enrolled and the person has not been asked before;
    ///     `nil` asks nobody.
    ///   - secondFactor: Asks for a code of the person's authenticator app, where the server wants one. After five wrong codes
    ///     the sign-in ends (`wrongSecondFactor`).
    public func withPassword(
        username: String, password: String, offeringBiometrics offer: BiometricOffer? = nil,
        secondFactor: SecondFactorPrompt? = nil
    ) async throws {
        let credentials = TypedCredentials(username: username, password: password)
        guard credentials.areWhole else { throw SignInError(.wrongCredentials, "nothing was typed") }
        let recording = self.core.server.newRecording()
        recording.note(.credentialsEntered)
        try await Self.showing(recording) {
            try self.core.store.removeCredentials()
            var saved: (sealed: String, key: JWK)?
            if try await self.biometricsWanted(offer, recording) {
                recording.note(.credentialsSaved)
                saved = try await self.save(credentials)
            }
            do {
                let used = saved.map { UsedCredentials(key: $0.key, formerSession: nil) }
                try await self.signIn(credentials, by: used, secondFactor, recording)
                try await self.judge(saved?.sealed, areGood: true)
            } catch {
                try await self.judge(saved?.sealed, areGood: false)
                throw error
            }
        }
    }

    /// Signs in with the saved name and password, after a finger or a face. The person is asked once. The session that they have
    /// begun before, in an earlier process of the app, ends at the server.
    ///
    /// Where the server does not take them any more they are deleted (`wrongCredentials`): show the fields. Where the enrolled
    /// fingers or faces are others than before, they are gone too (`biometricsChanged`).
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
                // The person signs in whatever has become of what is known of the session before.
                let former = saved.formerSession.flatMap { try? opened.read($0) }.flatMap(FormerSession.init(text:))
                let used = opened.publicKey.map { UsedCredentials(key: $0, formerSession: former) }
                try await self.signIn(credentials, by: used, secondFactor, recording)
            } catch let error as SignInError
                where [.wrongCredentials, .biometricsChanged, .notSignedIn].contains(error.code)
            {
                try store.removeCredentials()
                throw error
            }
        }
    }

    /// Saves them before anybody has judged them; gives what they look like in the storage, and what they are encrypted to.
    private func save(_ credentials: TypedCredentials) async throws -> (sealed: String, key: JWK) {
        let (core, store) = (self.core, self.core.store)
        guard let box = store.credentialsBox else { throw SignInError(.biometricsUnavailable, "no biometric keys") }
        return try await store.alone {
            let key = try await box.makeKey(guardedBy: core.guardian)
            let sealed = try GuardedBox.seal(credentials.text, to: key, random: core.platform.random)
            try store.setCredentials(SignInStore.SavedCredentials(sealed: sealed, isGood: false))
            return (sealed, key)
        }
    }

    /// What the server has said of saved ones counts for those alone: another sign-in may have saved others since.
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
        // Name and password open it again, where the person wants that, and not the session.
        try await self.core.begin(tokens, provenBy: key, keeping: false, by: used, recording)
    }
}
