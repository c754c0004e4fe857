import Countersign
import Foundation

/// The town hall's app: the actions behind its buttons.
struct TownHallApp: Sendable {
    let sdk: CountersignSDK
    let screen: any TownHallScreen
    /// The server of identities for the app's own requests.
    let server: String
    let backEnd: TownHallBackEnd?

    func appOpens() async {
        await self.trying {
            let identities = try self.sdk.personalizer.personalizedIdentities
            for identity in identities {
                let factors = words([identity.enrolledFactors.sorted { $0.rawValue < $1.rawValue }])
                await self.screen.say("[\(identity.alias) at \(identity.idmIdentifier), signs with \(factors)]")
            }
            if identities.isEmpty { await self.screen.say("[Nobody's yet: open the code of an activation]") }
        }
    }

    /// Handles a code that was scanned, pasted or opened: the code of an activation, or of a sign-in elsewhere.
    func codeOpened(_ text: String) async {
        await self.trying {
            // After a first start without a network, the app has no key to verify a code. Fresh keys are not fetched
            // again.
            try? await self.sdk.common.refreshServerKeys()
            switch try self.sdk.common.parseProcessInitializationData(text) {
            case .personalization(let data):
                guard await self.wasBegunHere(data.isFromLink) else { throw GivenUp() }
                try await self.personalize(data)
            case .authentication(let data):
                guard await self.wasBegunHere(data.isFromLink) else { throw GivenUp() }
                try await self.authenticate { data }
            }
        }
    }

    func signInTapped() async {
        await self.trying {
            guard let backEnd else {
                throw GivenUp(sentence: "This app was given no back end, and nobody else can use its code.")
            }
            let begun = try await backEnd.begin()
            let code = try await self.authenticate {
                try await self.sdk.authenticator.fetchInAppAuthenticationInitializationData(
                    InAppAuthenticationRequest(
                        idmIdentifier: self.server, clientID: begun.clientID, redirectURI: begun.redirectURI,
                        scope: begun.scope, state: begun.state, nonce: begun.nonce, codeChallenge: begun.codeChallenge))
            }
            // A code of another sign-in does not count.
            guard let code, code.state == begun.state, code.issuer == self.server else {
                throw GivenUp(sentence: "That was not the answer to this sign-in. Begin again.")
            }
            let session = try await backEnd.finish(begun, with: code)
            // A real app sends the session's token with each further request to its back end.
            await self.screen.say("The town hall says: \(session.greeting)")
        }
    }

    /// Does an action on the identity itself, such as a new PIN. Each action begins in its own way, and continues as
    /// every authentication does.
    func guarded(_ begin: (Personalizer, String) async throws -> AuthenticationInitializationData) async {
        await self.trying { try await self.authenticate { try await begin(self.sdk.personalizer, self.server) } }
    }

    func leaveTapped() async {
        await self.trying {
            guard await self.screen.agrees(to: "Take your identity off this phone? Your account stays.") else {
                throw GivenUp()
            }
            try await self.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: self.server)
            await self.screen.say("This phone is nobody's now.")
        }
    }

    private func wasBegunHere(_ isFromLink: Bool) async -> Bool {
        guard isFromLink else { return true }
        return await self.screen.agrees(to: "This came in a link. Did you begin it yourself, a moment ago?")
    }

    private func personalize(_ data: PersonalizationInitializationData) async throws {
        let response = try await self.waitingOut {
            let pin = try await self.screen.pin("The PIN that came with the activation, another way")
            return try await self.sdk.personalizer.decryptPersonalizationInitializationData(data: data, pin: pin)
        }
        switch response {
        case .newPersonalization(let personalization):
            let name = try await self.screen.line("What is this phone to be called? Nothing: Town hall app")
            if !name.isEmpty { personalization.alias = name }
            if try await self.sdk.biometrics.isAvailable, await self.screen.agrees(to: "Use your finger, too?") {
                personalization.setFactor(try await self.finger { try await $0.factorForEnrolment() })
            }
            _ = try await self.persisting {
                try await self.sdk.personalizer.finishPersonalization(request: personalization)
            }
            await self.screen.say("This phone is yours now. The PIN of the activation stays your PIN.")
        case .mergePersonalization(_, let data):
            guard await self.screen.agrees(to: "Take this invitation into the account that this phone has?") else {
                throw GivenUp()
            }
            try await self.authenticate { data.data }
        case .alreadyPersonalized: await self.screen.say("This phone has an identity of that server already.")
        }
    }

    /// Does a button's action, and reports errors.
    private func trying(_ action: () async throws -> Void) async {
        do {
            try await action()
        } catch let end as GivenUp {
            await self.screen.say(end.sentence)
        } catch let error as CountersignError {
            await self.screen.say(words(error))
        } catch let refusal as TownHallBackEnd.Refusal {
            await self.screen.say(refusal.error)
        } catch {
            await self.screen.say("That did not work. Try again.")
        }
    }
}
