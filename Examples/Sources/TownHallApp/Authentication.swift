import Countersign
import Foundation

/// The steps from the beginning of an authentication to its signature.
extension TownHallApp {
    /// Does a complete authentication, with any of the results. Returns the code for the app's back end if this app
    /// signs in; otherwise `nil`.
    @discardableResult
    func authenticate(_ begin: () async throws -> AuthenticationInitializationData) async throws -> AuthorizationCode? {
        let request = try await self.waitingOut {
            try await self.sdk.authenticator.startAuthentication(data: try await begin())
        }
        do {
            let information = try await self.confirmed(request)
            return try await self.finished(information)
        } catch {
            // The waiting page learns of the end. If nobody can be told, the session runs out by itself, or has ended
            // already.
            try? await self.sdk.common.abort(request)
            throw error
        }
    }

    /// Makes the person choose role and attributes, and agree to the result.
    private func confirmed(_ request: AuthenticateRequest) async throws -> AuthenticationUserInformation {
        var role = request.roles[0]
        if request.roles.count > 1 {
            let names = request.roles.map { "\($0.name), signing with \(words($0.requestedAuthenticators))" }
            role = request.roles[try await self.screen.choice("As what do you come?", among: names)]
        }
        request.setSelection(role)
        var form = AttributeForm(screen: self.screen)
        while true {
            try await form.fill(request.info)
            switch try await self.sdk.authenticator.prepareAuthenticationUserInformation(request: request) {
            case .failure: form.isCorrection = true
            case .success(let information):
                let question = sentence(of: request, as: role, information)
                guard await self.screen.agrees(to: question) else { throw GivenUp() }
                return information
            }
        }
    }

    /// Makes the person sign with every requested factor. Only the server can judge the factors.
    func sign(_ information: AuthenticationUserInformation) async throws {
        let ways = information.requestedAuthenticators
        guard information.missingAuthenticators.isEmpty else {
            let missing = words([information.missingAuthenticators.sorted { $0.rawValue < $1.rawValue }])
            throw GivenUp(sentence: "This phone cannot sign that: it lacks \(missing).")
        }
        let way =
            ways.count == 1
            ? ways[0] : ways[try await self.screen.choice("How do you sign?", among: ways.map { words([$0]) })]
        for authenticator in way {
            switch authenticator {
            case .device: try information.sign(factor: DeviceFactor())
            case .pin: try information.sign(factor: PinFactor(try await self.screen.pin("Your PIN")))
            case .biometric:
                let server = information.idmIdentifier
                try information.sign(factor: try await self.finger { try await $0.factor(idmIdentifier: server) })
            // These types are reserved: no phone has them, so they were among the missing types.
            case .otp, .yubikey: throw GivenUp()
            }
        }
    }

    /// Reads a finger. A person that withholds the finger has given up.
    func finger(_ read: (Biometrics) async throws -> sending BiometricFactor) async throws -> sending BiometricFactor {
        do {
            return try await read(self.sdk.biometrics)
        } catch let error as CountersignError where error.errorCode == .biometricCancelled {
            throw GivenUp(sentence: words(error))
        }
    }
}

/// Returns the question for the person: one sentence with everything that the person signs.
func sentence(
    of request: AuthenticateRequest, as role: RequestedRole, _ information: AuthenticationUserInformation
) -> String {
    let purpose =
        switch request.purpose {
        case .userLogin, .serviceLogin: "Sign in to"
        case .addFactor: "Add your finger at"
        case .changePin: "Change your PIN at"
        case .newActivation: "Set up another phone at"
        case .delete: "Delete your account, for good, at"
        case .merge: "Take the invitation into your account at"
        }
    let told = information.confirmedAttributes.map { confirmed in
        "your \(confirmed.attribute.englishName)" + (confirmed.alias.map { " (\($0))" } ?? "")
    }
    return "\(purpose) \(request.serviceName) (\(request.serviceURL)) as \(role.name)"
        + (told.isEmpty ? "?" : ", and tell it \(told.joined(separator: ", "))?")
        + (information.transactionText.map { "\n\n\($0)" } ?? "")
}

/// Returns alternatives of factors in words.
func words(_ alternatives: [[AuthenticatorType]]) -> String {
    alternatives.map { $0.map(words).joined(separator: " and ") }.joined(separator: ", or ")
}

private func words(_ authenticator: AuthenticatorType) -> String {
    switch authenticator {
    case .device: "this phone"
    case .pin: "the PIN"
    case .biometric: "a finger"
    case .otp: "a one-time password"
    case .yubikey: "a security key"
    }
}
