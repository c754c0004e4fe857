import Ceremony
import Countersign
import Foundation
import PersonalInformation
import UAFClient
import _Primitives

/// The handling of one code of a personalised identity, from its reading to its end: an activation, or an
/// authentication.
struct IdentityCodeRun {
    let phone: IdentityPhone
    let person: IdentityHolder

    private var report: Report { self.phone.report }

    /// Reads a code, and finds the server of the code. Throws ``Refusal`` and `CountersignError`.
    private func read(_ text: String) async throws -> (sdk: CountersignSDK, ProcessInitializationData) {
        let code = String(text.splitBytes(at: "#", maxSplits: 1).last ?? "")
        guard let address = try? ProcessCode.uncheckedServer(of: code) else {
            throw Refusal.failed("malformed-data", "The code makes no sense. Have it shown again, and read it whole.")
        }
        if let named = try self.phone.options.serverAddress(), named != ServerAddress(address) {
            throw Refusal(
                .refused, .refused, "host-not-allowed", "The code leads to \(address), not to \(named.text).")
        }
        try self.person.checkArguments(for: address)
        let sdk = try await self.phone.sdk(for: address)
        do {
            return (sdk, try sdk.common.parseProcessInitializationData(text))
        } catch let error as CountersignError
            where ![.malformedData, .unknownManager].contains(error.errorCode)
        {
            // The keys could not be fetched, or the server has a newer key.
            try await sdk.common.refreshServerKeys()
            return (sdk, try sdk.common.parseProcessInitializationData(text))
        }
    }

    // MARK: Scanning

    /// Carries out an authentication's code.
    func scan(_ text: String) async throws {
        let (sdk, data) = try await self.read(text)
        guard case .authentication(let data) = data else {
            throw Refusal.usage("This code is an activation, which makes an identity: use `enroll`.")
        }
        var authentication = IdentityAuthentication(sdk, on: self.phone.device, answeredBy: self.person)
        switch try await authentication.run(data) {
        case .userLogin(let login):
            self.report.say([
                "event": .string("finished"), "outcome": .outcome(.approved),
                "service": .string(login.relyingPartyName), "origin": .string(login.relyingPartyURL),
                "role": .string(login.roleName),
            ]) { terminal in
                terminal.success(
                    "\(login.relyingPartyName) knows you as \(login.roleName). Go on where the code was shown.")
            }
        default: throw Refusal.failed("wrong-process", "The server ended in something else than a sign-in.")
        }
    }

    // MARK: Enrolling

    /// Makes the identity of an activation's code, or merges the code's account into the existing identity.
    ///
    /// - Parameters:
    ///   - name: The name of this phone.
    ///   - biometric: `true` if a finger or a face is enrolled too; `nil` to ask the person.
    func enroll(_ text: String, name: String?, biometric: Bool?) async throws {
        let (sdk, data) = try await self.read(text)
        guard case .personalization(let data) = data else {
            throw Refusal.usage("This code is a request, not an activation: use `scan`.")
        }
        var person = self.person
        self.report.say([
            "event": .string("activation"), "server": .string(data.idmIdentifier),
            "expiresAt": .string(IdentityRest.text(data.expiresAt)),
        ]) { terminal in
            terminal.print()
            terminal.print("\(data.idmIdentifier) offers this phone an identity", .bold)
            if data.isFromLink { terminal.notice("This came in a link. Go on only if you have asked for it.") }
        }
        guard await person.decides("Personalise this phone?") else {
            throw Refusal(.refused, .denied, "denied", "You gave up. The code can still be used.")
        }
        switch try await self.open(data, with: sdk, &person) {
        case .newPersonalization(let personalization):
            personalization.alias = name
            if let factor = try await self.biometric(biometric, with: sdk, person) { personalization.setFactor(factor) }
            let identity = try await sdk.personalizer.finishPersonalization(request: personalization)
            self.finished(identity)
        case .alreadyPersonalized(let server):
            throw Refusal(
                .refused, .refused, "already-personalized",
                "This phone has an identity of \(server) already, and a phone has one. `depersonalize` it first.")
        case .mergePersonalization(let server, let merge):
            // A script has already agreed by its command. A person at a terminal is asked first.
            if !person.terminal.isInteractive { person.approveOwnRequest() }
            var authentication = IdentityAuthentication(
                sdk, on: self.phone.device, answeredBy: person,
                ownRequest: "Take the invitation into the identity that this phone has")
            guard case .apiAccessMergeComplete = try await authentication.run(merge.data) else {
                throw Refusal.failed("wrong-process", "The server ended in something else than a merge.")
            }
            self.report.say([
                "event": .string("finished"), "outcome": .outcome(.merged), "server": .string(server),
            ]) { $0.success("The invitation belongs to your identity now. Its code is void.") }
        }
    }

    /// Asks for the activation's PIN until the PIN is right.
    private func open(
        _ data: PersonalizationInitializationData, with sdk: CountersignSDK, _ person: inout IdentityHolder
    ) async throws -> PersonalizationResponse {
        while true {
            let pin = try await person.pin(.activation)
            do {
                return try await sdk.personalizer.decryptPersonalizationInitializationData(data: data, pin: pin)
            } catch let error as CountersignLockoutError {
                let rest = error.information
                try await IdentityRest(device: self.phone.device, person: person).sitOut(
                    seconds: rest.seconds, until: rest.lockedUntil, isPending: false,
                    wrong: "That is not the PIN of this code.")
            }
        }
    }

    private func biometric(_ wanted: Bool?, with sdk: CountersignSDK, _ person: IdentityHolder) async throws
        -> BiometricFactor?
    {
        var isWanted = wanted ?? false
        if wanted == nil, person.terminal.isInteractive, try await sdk.biometrics.isAvailable {
            isWanted = try await person.terminal.confirm("Sign with a (simulated) finger or face, too?")
        }
        guard isWanted else { return nil }
        return try await sdk.biometrics.factorForEnrolment(prompt: SystemPrompt(reason: "Enrol it"))
    }

    private func finished(_ identity: PersonalizedIdentity) {
        var members = identity.json
        members["event"] = .string("finished")
        members["outcome"] = .outcome(.personalized)
        self.report.say(members) { terminal in
            terminal.success("This phone is personalised at \(identity.idmIdentifier), as \(identity.alias).")
            terminal.print("Its PIN is the one that you have just typed: `pin change` chooses another.")
        }
    }
}

extension PersonalizedIdentity {
    /// The description of an identity in lines of JSON.
    var json: JSONObject {
        var members: JSONObject = [
            "server": .string(self.idmIdentifier), "activation": .string(self.activation),
            "name": .string(self.alias),
            "factors": .array(self.enrolledFactors.map(\.name).sorted().map { .string($0) }),
            "createdAt": .string(IdentityRest.text(self.createdAt)),
        ]
        members.set("lastUsedAt", self.lastUsedAt.map(IdentityRest.text))
        return members
    }
}
