import ArgumentParser
import Countersign
import Foundation
import UAFClient
import _Primitives

/// The actions of the phone's own user on an identity. An action begins on this phone, and the server permits the
/// action after it has authenticated the person.
struct OwnIdentity {
    private let phone: IdentityPhone
    private var person: IdentityHolder

    /// Throws the errors of `IdentityPhone.init`.
    init(_ options: PhoneOptions, _ answers: AnswerOptions, _ report: Report) throws {
        self.init(
            try IdentityPhone(options, report),
            answeredBy: try IdentityHolder(answers, try IdentityOptions.parse([]), report))
    }

    init(_ phone: IdentityPhone, answeredBy person: IdentityHolder) {
        self.phone = phone
        self.person = person
        self.person.approveOwnRequest()
    }

    private var report: Report { self.phone.report }
    private static let wrongEnd = Refusal.failed("wrong-process", "The server ended in something else than was begun.")

    /// Authenticates the person for the action that was begun.
    private func authenticate(
        _ sdk: CountersignSDK, _ data: AuthenticationInitializationData, to purpose: String
    ) async throws -> (result: AuthenticationResult, person: IdentityHolder) {
        var authentication = IdentityAuthentication(
            sdk, on: self.phone.device, answeredBy: self.person, ownRequest: purpose)
        let result = try await authentication.run(data)
        return (result, authentication.person)
    }

    /// Makes the person choose a PIN. Throws ``Refusal`` for an unsuitable PIN; at a terminal the person is asked
    /// again.
    private func choose(_ pinSpec: PinSpecification, _ person: inout IdentityHolder) async throws {
        while true {
            let result = pinSpec.setPin(try await person.pin(.new))
            guard result != .valid else { return }
            let refusal = Refusal.failed(
                "pin-\(Refusal.kebab(result.rawValue))", "That PIN does not do: \(result.sentence(pinSpec))")
            guard person.terminal.isInteractive else { throw refusal }
            person.terminal.failure(refusal.sentence)
        }
    }

    // MARK: What can be done

    /// Changes the PIN.
    func changePin() async throws {
        let (sdk, identity) = try await self.phone.identity(self.person)
        let data = try await sdk.personalizer.startChangePin(idmIdentifier: identity.idmIdentifier)
        var (result, person) = try await self.authenticate(sdk, data, to: "Change the PIN")
        guard case .apiAccessChangePin(let request) = result else { throw Self.wrongEnd }
        try await self.choose(request.pinSpec, &person)
        try await sdk.personalizer.finishChangePin(request: request)
        self.finished(.changed, identity, "The PIN is changed.")
    }

    /// Adds a finger or a face.
    func addFactor() async throws {
        let (sdk, identity) = try await self.phone.identity(self.person)
        let data = try await sdk.personalizer.startAddAuthenticationFactor(identity.idmIdentifier)
        let (result, _) = try await self.authenticate(sdk, data, to: "Add a finger or a face")
        guard case .apiAccessAddFactor(let request) = result else { throw Self.wrongEnd }
        request.setFactor(try await sdk.biometrics.factorForEnrolment(prompt: SystemPrompt(reason: "Enrol it")))
        try await sdk.personalizer.finishAddAuthenticationFactor(request: request)
        self.finished(.added, identity, "This identity signs with a (simulated) finger or face, too.")
    }

    /// Makes an activation for another phone, and returns its code.
    func newActivation(name: String?, isMailed: Bool) async throws -> String {
        let (sdk, identity) = try await self.phone.identity(self.person)
        let data = try await sdk.personalizer.startRequestNewActivationData(idmIdentifier: identity.idmIdentifier)
        var (result, person) = try await self.authenticate(sdk, data, to: "Give another phone this identity")
        guard case .apiAccessRequestNewActivationData(let request) = result else { throw Self.wrongEnd }
        request.alias = name
        request.shouldSendEmail = isMailed
        try await self.choose(request.pinSpec, &person)
        return try await sdk.personalizer.finishRequestNewActivationData(request)
    }

    /// Deletes the account.
    ///
    /// - Parameter isAgreed: `true` if the person has agreed beforehand.
    func deleteAccount(isAgreed: Bool) async throws {
        guard isAgreed || self.person.terminal.isInteractive else {
            throw Refusal.usage("An account is deleted for good: without a terminal, say --approve.")
        }
        let (sdk, identity) = try await self.phone.identity(self.person)
        let data = try await sdk.personalizer.startDeletion(idmIdentifier: identity.idmIdentifier)
        let (result, person) = try await self.authenticate(sdk, data, to: "Delete the account")
        guard case .apiAccessDelete(let request) = result else { throw Self.wrongEnd }
        if !isAgreed {
            guard try await person.terminal.confirm("Delete the account for good, with all its phones?") else {
                throw Refusal(.refused, .denied, "denied", "Nothing was deleted.")
            }
        }
        try await sdk.personalizer.finishDeletion(request: request)
        self.finished(.deleted, identity, "The account is deleted, and with it the identity on this phone.")
    }

    private func finished(_ outcome: Outcome, _ identity: PersonalizedIdentity, _ sentence: String) {
        self.report.say([
            "event": .string("finished"), "outcome": .outcome(outcome), "server": .string(identity.idmIdentifier),
        ]) { $0.success(sentence) }
    }
}

extension PinSpecification.ResultCode {
    /// Returns the fault of a PIN in words.
    fileprivate func sentence(_ spec: PinSpecification) -> String {
        switch self {
        case .valid: "nothing is wrong with it."
        case .empty: "nothing was typed."
        case .tooShort: "it needs \(spec.minLength) digits or more."
        case .tooLong: "it has more than \(spec.maxLength) digits."
        case .invalidCharacters: "it has digits alone."
        case .tooSimple: "a date, digits in a row and what repeats are tried first by whoever finds the phone."
        case .unchanged: "it is the one that you have."
        }
    }
}
