import Countersign
import CountersignTestKit
import Foundation
import Testing

@Suite("The forms that block (decision 65)") struct BlockingFormTests {
    @Test("they do what the others do, and throw what those throw") func same() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let data = try await phone.data()
        let sdk = phone.sdk
        let isLogin = try await onThread {
            let request = try sdk.authenticator.startAuthenticationSynchronous(data: data)
            guard
                case .success(let info) = try sdk.authenticator.prepareAuthenticationUserInformationSynchronous(
                    request: request)
            else { return false }
            try info.sign(factor: DeviceFactor())
            try info.sign(factor: PinFactor(VirtualIdentityPhone.pin))
            return try sdk.authenticator.finishAuthenticationSynchronous(userInfo: info).isUserLogin
        }
        #expect(isLogin)
        #expect(
            await identityError {
                _ = try await onThread { try sdk.authenticator.startAuthenticationSynchronous(data: data) }
            } == .sessionConsumed)
        let identities = try await onThread {
            try sdk.personalizer.depersonalizeIdentityManagerSynchronous(idmIdentifier: "https://id.example")
            return try sdk.personalizer.personalizedIdentities
        }
        #expect(identities.isEmpty)
    }

    @Test("a recorded script comes to the same through both forms, call for call and request for request")
    func script() async throws {
        let waiting = try RecordedScript(.async)
        let blocking = try RecordedScript(.blocking)
        try await waiting.run()
        try await blocking.run()
        let (one, other) = await (waiting.record, blocking.record)
        #expect(one.count > 120)
        for (line, otherLine) in zip(one, other) { #expect(line == otherLine) }
        #expect(one.count == other.count)
        // It has gone where it was meant to: through what works, what is refused and what rests.
        for part in [
            "finish: UserLoginResult", "finish: LockoutInformation", "finish: CountersignLockoutError.lockedOut",
            "prepare: failure, dataMissing", "start: CountersignError.sessionConsumed",
            "decrypt: CountersignLockoutError",
            "decrypt: already at", "finish: merged at", "initialize: CountersignError.alreadyInitialized",
            "code: CountersignError.sessionConsumed", "add nothing: CountersignError.factorMissing",
            "sensor: true", "sensor: false", "abort: CountersignError.sessionAborted",
            "abort without a network: CountersignError.connectionError",
            "change the PIN: CountersignError.pinMissing", "depersonalize: CountersignError.notPersonalized",
        ] {
            #expect(one.contains { $0.hasPrefix(part) }, "\(part)")
        }
    }

    #if DEBUG
        @Test("on the main thread a debug build ends") func mainThread() async {
            await #expect(processExitsWith: .failure) {
                await MainActor.run { try? CountersignSDK.shared.common.refreshServerKeysSynchronous() }
            }
        }
    #endif
}
