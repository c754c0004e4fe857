import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@Suite("Decision 10: an app's catch clauses around an operation", .overEachKeyAbility)
struct OperationErrorTests {
    /// As an app writes it: what no clause takes is thrown on.
    private static func confirm(_ operation: OutOfBandAuthentication) async throws -> String {
        do {
            let result = try await operation.execute()
            if let location = result.location { return "open \(location)" }
            return "signed by \(result.account.username)"
        } catch let error as OperationError where error.fidoErrorCode == .userCanceled {
            return "given up"
        } catch let error as OperationError where error.fidoErrorCode == .userLockout {
            return "locked"
        } catch let error as OperationError where error == .fido(.noSuitableAuthenticator) {
            return "nothing fits"
        }
    }

    @Test("Each error reaches its clause, and one without a clause goes on")
    func clauses() async throws {
        let world = try await World()
        try await world.enroll()
        let server = world.server
        func ready(_ change: (inout VirtualPerson.Script) -> Void = { _ in }) async throws -> OutOfBandAuthentication {
            world.phone.person.script = VirtualPerson.Script()
            change(&world.phone.person.script)
            return world.phone.ready(try await world.operation(try await server.authentication()))
        }
        #expect(try await Self.confirm(try await ready()) == "signed by alice")
        #expect(try await Self.confirm(try await ready { $0.reactions[.authenticator] = .cancels }) == "given up")
        #expect(try await Self.confirm(try await ready { $0.kind = .fingerprint }) == "nothing fits")
        let used = try await ready()
        _ = try await Self.confirm(used)
        await #expect(throws: OperationError(.operationReused)) { _ = try await Self.confirm(used) }
    }
}

@Suite(
    "Operations parity 32, 34, 54, 57: one error for every operation, with what the app does about it",
    .overEachKeyAbility)
struct ErrorRecoveryTests {
    private static let codes: [OperationError.Code] = [
        .networkError, .notAuthorized, .userNotRegisteredInServer, .userAlreadyRegisteredInAnotherServer, .tokenExpired,
        .tokenAlreadyRedeemed, .tokenUnknown, .hostNotAllowed, .codeCameByLink, .tlsPinMismatch,
        .malformedPayload, .decryptionError,
        .accountLocked, .sessionUnknown,
        .unknownUsername, .appRenamed, .missingInteraction, .operationReused, .invalidRequestHeader,
        .invalidServerURL, .storageError, .clockSkewTooBig, .wrongNumber, .appAttestation, .unknown,
        .pinLocked, .pinNotEnrolled, .passwordLocked, .passwordNotEnrolled,
        .nameAlreadyExists, .dispatchTargetUnknown, .dispatcherUnknown, .deviceLimited, .newDeviceNotAdded,
    ]
    private static let fidoCodes: [FidoErrorCode] = [
        .insecureTransport, .userCanceled, .unsupportedVersion, .noSuitableAuthenticator, .protocolError,
        .untrustedFacetID, .keyDisappearedPermanently, .authenticatorAccessDenied, .invalidTransactionContent,
        .userNotResponsive, .insufficientAuthenticatorResources, .userLockout, .userNotEnrolled, .unknown,
    ]
    private static let errors =
        Self.codes.map { OperationError($0, "secret-reason") } + Self.fidoCodes.map { .fido($0, "secret-reason") }

    @Test("The errors' names of one operation alone are the same type")
    func aliases() {
        #expect(AuthenticationError(.networkError) == OperationError(.networkError))
        #expect(OutOfBandOperationError(.tokenExpired) == OperationError(.tokenExpired))
        #expect(AccountActivityError(.sessionUnknown) == OperationError(.sessionUnknown))
        #expect(PinChangeError(.pinLocked) == OperationError(.pinLocked))
        #expect(DeviceInformationChangeError(.nameAlreadyExists) == OperationError(.nameAlreadyExists))
        #expect(DeviceApprovalError(.newDeviceNotAdded) == OperationError(.newDeviceNotAdded))
        #expect(PasswordChangeError(.passwordLocked) == OperationError(.passwordLocked))
    }

    @Test("Each has a sentence of its own and advice for the person, without what is for the log")
    func sentences() {
        for error in Self.errors {
            let sentence = error.localizedDescription
            #expect(sentence.hasSuffix("."), "\(error)")
            #expect(error.recoverySuggestion?.hasSuffix(".") == true, "\(error)")
            #expect(!sentence.contains("secret-reason") && !sentence.contains("OperationError"))
        }
        let different = Set(Self.errors.map(\.localizedDescription))
        // A code that says nothing has the sentence of the other one that says nothing.
        #expect(different.count == Self.errors.count - 1)
        #expect(InitializationError(.storageInUse).localizedDescription == "Another program uses this device's keys.")
        #expect(
            DeleteAuthenticatorError(.unknownUsername, "x").localizedDescription
                == "This device has no account of that name.")
        #expect(
            OutOfBandPayloadError(.malformedPayload, "x").localizedDescription == "That is not a code of this product.")
    }

    @Test(
        "No advice about an operation costs an account that it was not about: nothing is wiped, reset or deleted whole")
    func nothingIsWiped() {
        for recovery in OperationError.Recovery.allCases {
            let advice = OperationError.fido(.unknown, recovery: recovery).recoverySuggestion?.lowercased() ?? "wipe"
            for word in ["wipe", "reset", "reinstall", "delete", "erase", "all accounts", "every account"] {
                #expect(!advice.contains(word), "\(recovery): \(advice)")
            }
        }
        #expect(OperationError.fido(.userLockout).recoverySuggestion?.contains("emove") == false)
    }

    @Test("Every recovery is one that some error asks for, and a caller's own choice stands")
    func recoveries() {
        var all = Set(Self.errors.map(\.recovery))
        all.insert(OperationError.fido(.userLockout, recovery: .unlockDevice).recovery)
        // What OutcomeTests has an operation end with.
        all.insert(.checkOutcome)
        #expect(all == Set(OperationError.Recovery.allCases))
        #expect(OperationError.fido(.protocolError).recovery == .tryAgain)
        #expect(OperationError.fido(.protocolError, serverStatusCode: 1403).recovery == .contactService)
    }

    @Test("The errors that are no operation's have a recovery of the same kind")
    func otherRecoveries() {
        let payload: [(OutOfBandPayloadError.Code, OperationError.Recovery)] = [
            (.malformedPayload, .haveCodeShownAgain), (.unsupportedVersion, .updateApp),
            (.decryptionError, .enrollAgain), (.operationReused, .correctApp),
        ]
        for (code, recovery) in payload { #expect(OutOfBandPayloadError(code, "").recovery == recovery) }
        let start: [(InitializationError.Code, OperationError.Recovery)] = [
            (.invalidConfiguration, .correctApp), (.operationReused, .correctApp), (.storageInUse, .tryAgain),
            (.storageUnavailable, .tryAgain), (.storageCorrupt, .enrollAgain), (.storageNewer, .updateApp),
            (.noDeviceLock, .enrollWithOperatingSystem), (.deviceProtection, .contactService),
        ]
        for (code, recovery) in start {
            #expect(InitializationError(code).recovery == recovery)
            #expect(InitializationError(code).recoverySuggestion?.hasSuffix(".") == true)
        }
        let deletion: [(DeleteAuthenticatorError.Code, OperationError.Recovery)] = [
            (.invalidAaid, .nothing), (.unknownUsername, .nothing), (.storageError, .tryAgain),
        ]
        for (code, recovery) in deletion {
            #expect(DeleteAuthenticatorError(code).recovery == recovery)
            #expect(DeleteAuthenticatorError(code).recoverySuggestion?.hasSuffix(".") == true)
        }
    }

    @Test("A name that another server's account has names that account, and no other, as what is in the way")
    func accountOfThatName() {
        #expect(OperationError(.userAlreadyRegisteredInAnotherServer).recovery == .forgetAccountOfThatName)
        #expect(OperationError.fido(.insufficientAuthenticatorResources).recovery == .makeRoom)
    }

    @Test("A server that says the account is locked is believed: to authenticate anew would not help")
    func lockedAccount() async throws {
        let world = try await World()
        try await world.enroll()
        for (type, name, code) in [
            ("application/problem+json", "urn:countersign:error:locked", OperationError.Code.accountLocked),
            ("application/problem+json", "urn:countersign:error:forbidden", .notAuthorized),
            ("text/html", "urn:countersign:error:locked", .notAuthorized),
        ] {
            await world.server.intercept { _ in
                TransportResponse(
                    status: 403, headers: [("Content-Type", type)], body: Array(#"{"type":"\#(name)"}"#.utf8))
            }
            let error = await operationError { _ = try await world.phone.authenticate(username: "alice") }
            #expect(error == OperationError(code) && error?.httpStatus == 403)
            #expect(error?.recovery == (code == .accountLocked ? .contactService : .authenticate))
            await world.server.stopIntercepting()
        }
    }

    /// Types the wrong PIN again as soon as one is taken.
    private struct WrongPins: PinUserVerifier {
        let clock: FakeClock

        func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
            if case .lastAttemptFailed(_, let seconds) = context.authenticatorProtectionStatus {
                self.clock.advance(by: .seconds(seconds))
            }
            handler.verifyPin("000000")
        }
    }

    @Test("A lock of the SDK and a lock of the operating system have different ways out")
    func locks() async throws {
        let world = try await World()
        try await world.enroll()
        let operation = try await world.operation(try await world.server.authentication())
        let error = await operationError {
            _ =
                try await world.phone.ready(operation).pinUserVerifier(WrongPins(clock: world.phone.clock)).execute()
        }
        #expect(error == .fido(.userLockout) && error?.recovery == .replaceLockedKey)
        // The way back costs nobody anything: a new enrolment replaces that key, and nothing is deleted.
        let advice = try #require(error?.recoverySuggestion)
        #expect(advice.contains("new link") && advice.contains("enrol again"))
        #expect(advice.contains("takes the place of the locked one"))
        #expect(advice.contains("other accounts are not touched"))

        let other = try await World()
        try await other.enroll("alice", [World.face])
        other.phone.camera.feel(.lockedOut)
        let payload = try await other.server.authentication()
        let locked = await operationError { _ = try await other.phone.authenticate(payload) }
        #expect(locked == .fido(.userLockout) && locked?.recovery == .unlockDevice)
    }

    @Test("The HTTP status of the answer is told, and whoever asked in the app gets it by the same type")
    func httpStatus() async throws {
        let world = try await World()
        try await world.enroll()
        let used = try await world.server.authentication()
        _ = try await world.phone.redeem(used)
        let twice = await operationError { _ = try await world.phone.redeem(used) }
        #expect(twice?.httpStatus == 409 && twice?.recovery == .haveCodeShownAgain)
        for (status, code) in [(503, OperationError.Code.networkError), (403, .notAuthorized)] {
            await world.server.stopIntercepting()
            await world.server.intercept { _ in TransportResponse(status: status, headers: [], body: []) }
            let error = await operationError { _ = try await world.phone.authenticate(username: "alice") }
            #expect(error?.code == code && error?.httpStatus == status)
            #expect(error.map { "\($0)" }?.contains("HTTP \(status)") == true)
        }
    }
}
