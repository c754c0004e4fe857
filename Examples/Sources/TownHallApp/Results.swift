import Countersign
import Foundation

/// The results of an authentication, and errors in words.
extension TownHallApp {
    /// Signs, and completes any of the eight results.
    func finished(_ information: AuthenticationUserInformation) async throws -> AuthorizationCode? {
        try await self.sign(information)
        let personalizer = self.sdk.personalizer
        let authenticator = self.sdk.authenticator
        switch try await self.persisting({ try await authenticator.finishAuthentication(userInfo: information) }) {
        case .userLogin(let result):
            await self.screen.say("You are signed in to \(result.relyingPartyName) as \(result.roleName).")
            // For a sign-in from a link on this device, the app returns to the browser.
            if let address = result.returnAddress { await self.screen.openInBrowser(address) }
        case .serviceLogin(let result):
            return try await self.persisting { try await authenticator.fetchAuthorizationCode(result) }
        case .apiAccessAddFactor(let access):
            access.setFactor(try await self.finger { try await $0.factorForEnrolment() })
            try await self.persisting { try await personalizer.finishAddAuthenticationFactor(request: access) }
            await self.screen.say("Your finger signs from now on.")
        case .apiAccessChangePin(let access):
            try await self.choosePin(access.pinSpec, "The new PIN")
            try await self.persisting { try await personalizer.finishChangePin(request: access) }
            await self.screen.say("Your PIN is changed.")
        case .apiAccessRequestNewActivationData(let access):
            let name = try await self.screen.line("What is the other phone to be called? Nothing: as it calls itself")
            if !name.isEmpty { access.alias = name }
            try await self.choosePin(access.pinSpec, "A PIN for the other phone")
            let code = try await self.persisting { try await personalizer.finishRequestNewActivationData(access) }
            await self.screen.say("Open this code at the other phone, and show it to nobody:\n\(code)")
        case .apiAccessDelete(let access):
            guard await self.screen.agrees(to: "Once more: delete the account for good, on every phone?") else {
                throw GivenUp()
            }
            try await self.persisting { try await personalizer.finishDeletion(request: access) }
            await self.screen.say("The account is deleted.")
        case .apiAccessMergeComplete:
            await self.screen.say("The invitation is part of your account. Its code is void: throw it away.")
        case .lockout(let lockout, let information):
            guard !lockout.isPermanent else {
                // A device has one identity of each server, so removing the identity makes room for the next identity.
                try await personalizer.depersonalizeIdentityManager(idmIdentifier: information.idmIdentifier)
                throw GivenUp(
                    sentence: "That was wrong too often. This phone is locked for good: get a new activation.")
            }
            try await self.waitOut(until: lockout.lockedUntil, for: lockout.duration)
            return try await self.finished(information)
        }
        return nil
    }

    /// Does an action that the server refuses during a lockout, and repeats the action after the lockout, as often as
    /// the person wants.
    func waitingOut<Value: Sendable>(_ action: () async throws -> Value) async throws -> Value {
        while true {
            do {
                return try await action()
            } catch let error as CountersignLockoutError where !error.information.isPermanent {
                let rest = error.information
                let seconds = rest.lockedUntil.timeIntervalSince(rest.serverTime)
                try await self.waitOut(until: rest.lockedUntil, for: .seconds(max(0, seconds.rounded(.up))))
            }
        }
    }

    private func waitOut(until moment: Date, for duration: Duration) async throws {
        await self.screen.say("That was wrong, or something was before. Nothing is judged until \(text(of: moment)).")
        // The server's clock may differ from this device's clock, but a duration is the same by both.
        let seconds = duration.components.seconds
        guard await self.screen.agrees(to: "Wait, and try again in \(seconds) seconds?") else { throw GivenUp() }
        try await self.screen.wait(for: duration)
    }

    /// Repeats a request to a server that does not answer, for as long as the person wants. The repeated request is the
    /// same request for the server.
    func persisting<Value: Sendable>(_ action: () async throws -> Value) async throws -> Value {
        while true {
            do {
                return try await action()
            } catch let error as CountersignError where [.connectionError, .timeout].contains(error.errorCode) {
                guard await self.screen.agrees(to: "The server does not answer. Ask it again?") else { throw error }
            }
        }
    }

    private func choosePin(_ specification: PinSpecification, _ question: String) async throws {
        let digits = "\(specification.minLength) to \(specification.maxLength) digits"
        while true {
            switch specification.setPin(try await self.screen.pin("\(question), \(digits)")) {
            case .valid: return
            case .empty, .tooShort, .tooLong, .invalidCharacters: await self.screen.say("It has to have \(digits).")
            case .tooSimple: await self.screen.say("Whoever finds the phone tries that one first.")
            case .unchanged: await self.screen.say("That is the PIN that you have.")
            }
        }
    }
}

/// Returns a moment in the form of the person's own clock.
func text(of moment: Date) -> String {
    moment.formatted(
        Date.ISO8601FormatStyle(timeZone: .current).year().month().day().dateTimeSeparator(.space)
            .time(includingFractionalSeconds: false))
}

/// Returns the description of an error, with the next step.
func words(_ error: CountersignError) -> String {
    let todo =
        switch error.errorCode {
        case .lockedOut:
            if let rest = (error as? CountersignLockoutError)?.information, !rest.isPermanent {
                "Nothing is judged until \(text(of: rest.lockedUntil)): begin again then."
            } else {
                "Take your identity off this phone (leave), and open the code of a new activation."
            }
        case .activationUnknown, .activationDisabled, .keyRemovedBySystem:
            "Take your identity off this phone (leave), and open the code of a new activation."
        case .activationDataExpired, .activationDataConsumed: "Ask for a new one."
        case .serverSignatureInvalid, .tlsError: "Somebody may be in between: try again elsewhere, and report it."
        case .protocolVersionUnsupported, .storageNewer: "Update it."
        case .storageCorrupt: "Wipe what the app keeps, and open the code of a new activation."
        case .clockSkew: "Set the clock of this device, and begin again."
        case .untrustedFacetID: "Its operator lists the apps that it takes (countersign serve --facets)."
        case .notPersonalized: "Open the code of an activation."
        case .biometricInvalidated: "Sign with the PIN, and add your finger again."
        case .securityInsufficient:
            ((error as? CountersignSecurityInsufficientError)?.reasons ?? []).joined(separator: ", ")
        case .unknownManager, .consentRequired, .codeCameByLink, .factorAlreadyEnrolled: ""
        default: "Begin again."
        }
    return [error.localizedDescription, todo].filter { !$0.isEmpty }.joined(separator: " ")
}
