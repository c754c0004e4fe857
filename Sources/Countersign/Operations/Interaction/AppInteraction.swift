import Foundation
import UAF
import UAFClient
import _Primitives

/// The app's screens, in the form that the authenticators use.
struct AppInteraction: UserInteraction {
    let username: Username
    let patience: Patience
    /// The device's authenticators by their AAID.
    let descriptors: [Aaid: AuthenticatorDescriptor]
    let screens: Screens
    /// The transaction that a selector has shown to the person, if the operation has content to confirm.
    let shown: Transaction?

    /// Prepares the app's screens for one operation.
    init(_ username: Username, _ screens: Screens, showing transaction: Transaction? = nil, _ core: ClientCore) async {
        self.username = username
        self.patience = core.patience
        self.descriptors = Dictionary(
            await core.descriptors(with: screens.biometricOptions).map { ($0.aaid, $0) },
            uniquingKeysWith: { first, _ in first })
        self.screens = screens
        self.shown = transaction
    }

    /// Accepts the picture that the person has already seen on a selector: the authenticator need not show it a second
    /// time.
    func show(picture: [UInt8], _ model: AuthenticatorModel) async throws {
        guard picture == self.shown?.content else { throw UserVerificationError.unavailable }
    }

    private func descriptor(_ model: AuthenticatorModel) throws -> AuthenticatorDescriptor {
        guard let descriptor = self.descriptors[model.aaid.text] else { throw UserVerificationError.unavailable }
        return descriptor
    }

    // MARK: PIN and password

    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes {
        switch model.factor {
        case .pin: try await self.enrollPin()
        case .password: try await self.enrollPassword()
        default: throw UserVerificationError.unavailable
        }
    }

    private func enrollPin() async throws -> SecretBytes {
        guard let enroller = self.screens.pinEnroller else { throw UserVerificationError.unavailable }
        let policy = try await self.patience.compute { await enroller.pinPolicy() }
        var lastError: PinEnrollmentError?
        while true {
            let context = PinEnrollmentContext(username: self.username, lastRecoverableError: lastError)
            let pin = try await self.patience.ask { answer in
                await enroller.enrollPin(context: context, handler: PinEnrollmentHandler(answer: answer))
            }
            lastError = policy.refusal(of: pin)
            if lastError == nil { return SecretBytes(utf8: pin) }
        }
    }

    private func enrollPassword() async throws -> SecretBytes {
        guard let enroller = self.screens.passwordEnroller else { throw UserVerificationError.unavailable }
        let policy = try await self.patience.compute { await enroller.passwordPolicy() }
        var lastError: PasswordEnrollmentError?
        while true {
            let context = PasswordEnrollmentContext(username: self.username, lastRecoverableError: lastError)
            let password = try await self.patience.ask { answer in
                await enroller.enrollPassword(context: context, handler: PasswordEnrollmentHandler(answer: answer))
            }
            do {
                // The check precedes any work on the text, including the app's work: composing a text takes time that
                // grows with its marks.
                guard let secret = SecretBytes.password(password) else { throw PasswordValidationError.unbounded }
                try await self.patience.compute { try await policy.validatePasswordForEnrollment(password) }
                return secret
            } catch let error as PasswordValidationError {
                lastError = .customValidationError(error)
            }
        }
    }

    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes
    {
        let descriptor = try self.descriptor(model)
        if model.factor == .pin, let verifier = self.screens.pinUserVerifier {
            let context = PinUserVerificationContext(
                authenticator: descriptor, username: self.username, authenticatorProtectionStatus: status,
                coolDownDeadline: self.patience.deadline(of: status),
                lastRecoverableError: lastError.map { $0 == .wrong ? .invalidPin : .coolingDown })
            return SecretBytes(
                utf8: try await self.patience.ask { answer in
                    await verifier.verifyPin(context: context, handler: PinUserVerificationHandler(answer: answer))
                })
        }
        if model.factor == .password, let verifier = self.screens.passwordUserVerifier {
            let context = PasswordUserVerificationContext(
                authenticator: descriptor, username: self.username, authenticatorProtectionStatus: status,
                coolDownDeadline: self.patience.deadline(of: status),
                lastRecoverableError: lastError.map { $0 == .wrong ? .invalidPassword : .coolingDown })
            let password = try await self.patience.ask { answer in
                await verifier.verifyPassword(
                    context: context, handler: PasswordUserVerificationHandler(answer: answer))
            }
            // A password that could not be enrolled is wrong, and counts as a wrong try.
            return SecretBytes.password(password) ?? .noPassword
        }
        throw UserVerificationError.unavailable
    }

    func credentialsWereValid(_ model: AuthenticatorModel) async {
        let verifier: (any UserVerifier)? =
            switch model.factor {
            case .pin: self.screens.pinUserVerifier
            case .password: self.screens.passwordUserVerifier
            case .fingerprint: self.screens.fingerprintUserVerifier
            case .face: self.screens.biometricUserVerifier
            case .devicePasscode: self.screens.devicePasscodeUserVerifier
            case .devicePossession: nil
            }
        guard let verifier else { return }
        // A screen that does not return in time has no influence on the operation. A cancelled task ends the operation
        // after this function.
        try? await self.patience.compute { await verifier.onValidCredentialsProvided() }
    }

    // MARK: What the operating system judges

    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading {
        let descriptor = try self.descriptor(model)
        let refusal = Answer<BiometricReading>()
        if model.factor == .fingerprint, let verifier = self.screens.fingerprintUserVerifier {
            let context = FingerprintUserVerificationContext(
                authenticator: descriptor, username: self.username,
                lastRecoverableError: hint.map(FingerprintUserVerificationError.init(hint:)))
            _ = try await self.patience.ask { listening in
                await verifier.verifyFingerprint(
                    context: context,
                    handler: FingerprintUserVerificationHandler(listening: listening, refusal: refusal))
            }
            return try await self.patience.first(unless: refusal) { try await read(SystemPrompt()) }
        }
        if model.factor == .face, let verifier = self.screens.biometricUserVerifier {
            let context = BiometricUserVerificationContext(authenticator: descriptor, username: self.username)
            let prompt = try await self.patience.ask { listening in
                await verifier.verifyBiometric(
                    context: context, handler: BiometricUserVerificationHandler(listening: listening, refusal: refusal))
            }
            // The operating system's dialog stays until it ends. The app is not asked again.
            return try await self.patience.first(unless: refusal) {
                while true {
                    let reading = try await read(prompt)
                    guard case .noMatch = reading else { return reading }
                }
            }
        }
        throw UserVerificationError.unavailable
    }

    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading {
        guard let verifier = self.screens.devicePasscodeUserVerifier else { throw UserVerificationError.unavailable }
        let context = DevicePasscodeUserVerificationContext(
            authenticator: try self.descriptor(model), username: self.username)
        let refusal = Answer<DevicePasscodeReading>()
        let prompt = try await self.patience.ask { listening in
            await verifier.verifyDevicePasscode(
                context: context,
                handler: DevicePasscodeUserVerificationHandler(listening: listening, refusal: refusal))
        }
        return try await self.patience.first(unless: refusal) { try await ask(prompt) }
    }
}

extension SecretBytes {
    /// Returns a password's bytes, which are the same for every way in which keyboards write the password. Every space
    /// is U+0020, and the text is composed (OpaqueString, RFC 8265, section 4.2).
    ///
    /// Returns `nil` for more than 1024 bytes, and for more than 30 combining marks in a row.
    static func password(_ text: String) -> SecretBytes? {
        guard text.utf8.count <= 1024, text.isStreamSafe else { return nil }
        var spaced = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            spaced.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
        }
        return SecretBytes(utf8: String(spaced).precomposedStringWithCanonicalMapping)
    }

    /// A value that no password has: its bytes are not a text.
    static var noPassword: SecretBytes { SecretBytes([0xFF]) }
}
