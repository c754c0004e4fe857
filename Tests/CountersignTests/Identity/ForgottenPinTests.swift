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
