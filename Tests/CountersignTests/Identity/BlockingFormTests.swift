import Countersign
import CountersignTestKit
import Foundation
import Testing

@Suite("The forms that block (decision 65)") struct BlockingFormTests {
    /// Runs something where an app would: on a thread that is neither the main one nor a task's.
    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try body() }) }.start()
        }
    }

    @Test("they do what the others do, and throw what those throw") func same() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let data = try await phone.data()
        let sdk = phone.sdk
        let isLogin = try await self.onThread {
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
                _ = try await self.onThread { try sdk.authenticator.startAuthenticationSynchronous(data: data) }
            } == .sessionConsumed)
        let identities = try await self.onThread {
            try sdk.personalizer.depersonalizeIdentityManagerSynchronous(idmIdentifier: "https://id.example")
            return try sdk.personalizer.personalizedIdentities
        }
        #expect(identities.isEmpty)
    }

    #if DEBUG
        @Test("on the main thread a debug build ends") func mainThread() async {
            await #expect(processExitsWith: .failure) {
                await MainActor.run { try? CountersignSDK.shared.common.refreshServerKeysSynchronous() }
            }
        }
    #endif
}
