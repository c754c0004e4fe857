import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import _Primitives

@Suite("PINs that are forgotten with what they were for (decision 82)") struct ForgottenPinTests {
    /// Signs with a PIN that nobody else holds.
    private func sign(_ info: AuthenticationUserInformation, _ pin: inout WeakPin) throws {
        let typed = SecretBytes(utf8: VirtualIdentityPhone.pin)
        pin.bytes = typed
        try info.sign(factor: PinFactor(typed))
        try info.sign(factor: DeviceFactor())
    }

    /// Types a PIN that nobody else holds.
    private func enter(_ digits: String, into specification: PinSpecification, _ pin: inout WeakPin) {
        let typed = SecretBytes(utf8: digits)
        pin.bytes = typed
        #expect(specification.setPin(typed) == .valid)
    }

    @Test(
        "the PIN of another device's activation goes once that is made, or refused for good",
        arguments: [
            nil, IdentityProblem(.grantExpired), IdentityProblem(.sessionAborted), IdentityProblem(.tooManyRequests),
        ] as [IdentityProblem?])
    func activation(_ problem: IdentityProblem?) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToNewActivation()
        var pin = WeakPin()
        self.enter("735041", into: access.pinSpec, &pin)
        if let problem { await phone.server.refuseNext(problem) }
        let error = await identityError { _ = try await personalizer.finishRequestNewActivationData(access) }
        #expect((error == nil) == (problem == nil))
        #expect(pin.isKept == (problem?.code == .tooManyRequests))
        withExtendedLifetime(access) {}
    }

    @Test("an activation that was lost is forgotten with its PIN once another one's code has come")
    func lostActivation() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToNewActivation()
        var pin = WeakPin()
        self.enter("735041", into: access.pinSpec, &pin)
        await phone.server.holdBack(2)
        let finish: () async throws -> Void = { _ = try await personalizer.finishRequestNewActivationData(access) }
        #expect(await identityError(finish) == .timeout)
        var other = WeakPin()
        self.enter("604817", into: access.pinSpec, &other)
        #expect(pin.isKept)
        #expect(await identityError(finish) == nil)
        #expect(!pin.isKept && !other.isKept)
        withExtendedLifetime(access) {}
    }

    @Test("a changed PIN goes once the server has it, or the change is refused for good", arguments: [true, false])
    func changedPin(_ isRefused: Bool) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToChangePin()
        var pin = WeakPin()
        self.enter("970358", into: access.pinSpec, &pin)
        let finish: () async throws -> Void = { try await personalizer.finishChangePin(request: access) }
        await phone.server.holdBack(2)
        #expect(await identityError(finish) == .timeout)
        #expect(pin.isKept)
        if isRefused { await phone.server.refuseNext(IdentityProblem(.grantExpired)) }
        #expect(await identityError(finish) == (isRefused ? .grantExpired : nil))
        #expect(!pin.isKept)
        withExtendedLifetime(access) {}
    }

    @Test("what was typed goes with a process that is given up, whatever the server says", arguments: [true, false])
    func givenUp(_ isDown: Bool) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        let access = try await phone.accessToNewActivation()
        var (first, second) = (WeakPin(), WeakPin())
        try self.sign(info, &first)
        self.enter("735041", into: access.pinSpec, &second)
        await phone.server.goDown(isDown)
        for holder in [info, access] as [any IdentitySessionHolder] {
            if !isDown { await phone.server.refuseNext(IdentityProblem(.tooManyRequests)) }
            let error = await identityError { try await phone.sdk.common.abort(holder) }
            #expect(error == (isDown ? .connectionError : .tooManyRequests))
        }
        #expect(!first.isKept && !second.isKept)
        withExtendedLifetime((info, access)) {}
    }

    @Test("factors do not come back into a process that was given up while they were about to leave")
    func givenUpMeanwhile() async throws {
        let device = FailingInspection()
        let phone = try await VirtualIdentityPhone.personalized { $0.securityInspection = device }
        let authenticator = phone.sdk.authenticator
        let common = phone.sdk.common
        var pin = WeakPin()
        for isGivenUp in [false, true] {
            let info = try await phone.prepare()
            try self.sign(info, &pin)
            device.failOnce { if isGivenUp { try await common.abort(info) } }
            #expect(await identityError { _ = try await authenticator.finishAuthentication(userInfo: info) } != nil)
            #expect(pin.isKept == !isGivenUp)
            let again = await identityError { _ = try await authenticator.finishAuthentication(userInfo: info) }
            #expect(again == (isGivenUp ? .sessionExpired : nil))
        }
    }
}

/// What looks at a device, and fails once after something was done.
// Safe to share: every access to `next` is within `lock`.
private final class FailingInspection: SecurityInspection, @unchecked Sendable {
    private struct Failure: Error {}

    private let lock = NSLock()
    private var next: (@Sendable () async throws -> Void)?

    func failOnce(after body: @escaping @Sendable () async throws -> Void) { self.lock.withLock { self.next = body } }

    func inspect() async throws -> SecurityFindings {
        let body = self.lock.withLock {
            defer { self.next = nil }
            return self.next
        }
        if let body {
            try await body()
            throw Failure()
        }
        return SecurityFindings(checkVersion: 1, osVersion: "Test 1", isRooted: false, isHooked: false)
    }
}
