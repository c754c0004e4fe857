import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import PersonalInformation
import Testing
import UAFClient
import _Primitives

@Suite("Altered answers of an identity's server (decision 62)") struct AlteredAnswerTests {
    private let random = RandomSource.repeatable("altered answers")

    /// One bit of every byte, and every bit of the last four, where base64 has some that stand for nothing.
    @Test("whichever byte of an answer is changed, nothing of it is taken") func everyByte() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let request = try await phone.start()
        let before = request.identitySession.nextRequestUntil
        let meddler = Meddler()
        await phone.server.damage { meddler.damage($0) }
        let prolong: () async throws -> Void = { try await phone.sdk.common.prolongSession(holder: request) }
        try await prolong()
        let length = meddler.length
        #expect(length > 300)
        for position in 0..<length {
            let one = UInt8(1) << UInt8(self.random.number(below: 8))
            for mask in position < length - 4 ? [one] : (0..<8).map({ UInt8(1) << $0 }) {
                meddler.change(position, mask)
                #expect(await identityError(prolong) == .serverSignatureInvalid, "byte \(position), bits \(mask)")
            }
        }
        #expect(request.identitySession.nextRequestUntil == before)
        // Too short and too long it is as bad.
        for body in [[], Array("x".utf8)] {
            await phone.server.damage { TransportResponse(status: 200, headers: $0.headers, body: body) }
            #expect(await identityError(prolong) == .serverSignatureInvalid)
        }
        await phone.server.damage { response in
            var response = response
            response.body.append(UInt8(ascii: "A"))
            return response
        }
        #expect(await identityError(prolong) == .serverSignatureInvalid)
        await phone.server.damage(nil)
        try await prolong()
    }

    private enum Call: CaseIterable {
        case start, refusal, prepare, finish, lockout, code, abort, inApp, apiAccess, complete, open, enroll
    }

    @Test("so it is with every kind of answer, of refusals too", arguments: Call.allCases)
    private func everyKind(_ call: Call) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let authenticator = phone.sdk.authenticator
        let personalizer = phone.sdk.personalizer
        for share in [UInt64(0), 400, 999] {
            let meddler = Meddler()
            let mask = UInt8(1) << UInt8(self.random.number(below: 8))
            /// Changes the answer to `body`, and to nothing else.
            func meddled(_ body: () async throws -> Void) async -> CountersignErrorCode? {
                await phone.server.damage { response in
                    meddler.change(Int(share) * response.body.count / 1000, mask)
                    return meddler.damage(response)
                }
                let code = await identityError(body)
                await phone.server.damage(nil)
                return code
            }
            let code: CountersignErrorCode?
            switch call {
            case .start:
                let data = try await phone.data()
                code = await meddled { _ = try await authenticator.startAuthentication(data: data) }
            case .refusal:
                let data = try await phone.data()
                await phone.server.refuseNext(IdentityProblem(.sessionExpired))
                code = await meddled { _ = try await authenticator.startAuthentication(data: data) }
            case .prepare:
                let request = try await phone.start()
                code = await meddled {
                    _ = try await authenticator.prepareAuthenticationUserInformation(request: request)
                }
            case .finish, .lockout:
                let info = try await phone.prepare()
                let pin = call == .finish ? VirtualIdentityPhone.pin : "000000"
                code = await meddled { _ = try await phone.finishByPin(info, pin: pin) }
                phone.clock.advance(by: .seconds(61))
            case .code:
                let login = try await phone.serviceLogin()
                code = await meddled { _ = try await authenticator.fetchAuthorizationCode(login) }
            case .abort:
                let request = try await phone.start()
                code = await meddled { try await phone.sdk.common.abort(request) }
            case .inApp: code = await meddled { _ = try await phone.inAppData() }
            case .apiAccess:
                code = await meddled { _ = try await personalizer.startDeletion(idmIdentifier: "https://id.example") }
            case .complete:
                let access = try await phone.accessToNewActivation()
                access.pinSpec.setPin("735041")
                code = await meddled { _ = try await personalizer.finishRequestNewActivationData(access) }
            case .open, .enroll:
                let other = try await VirtualIdentityPhone(server: phone.server)
                let activation = try await phone.server.activationCode(pin: "735041")
                if call == .open {
                    code = await meddled { _ = try await other.open(activation, pin: "735041") }
                } else {
                    let request = try await other.newIdentity(activation, pin: "735041")
                    code = await meddled { try await other.sdk.personalizer.finishPersonalization(request: request) }
                }
                #expect(try other.sdk.personalizer.personalizedIdentities.isEmpty)
            }
            #expect(code == .serverSignatureInvalid, "\(call), \(share)")
        }
    }

    @Test("whichever byte of the server's keys is changed, none of them is taken") func keys() async throws {
        let server = try VirtualIdentityServer()
        let meddler = Meddler()
        let sdk = CountersignSDK()
        let transport = MeddlingTransport(server: server, meddler: meddler)
        try await transport.measure()
        var configuration = IdentityConfiguration(servers: [server.trusted])
        configuration.facetID = "linux:program:test"
        meddler.change(0, 1)
        try await sdk.initialize(
            configuration, platform: DevicePlatform(storage: InMemoryStorage(), clock: FakeClock(wall: server.now)),
            transport: transport)
        let refresh: () async throws -> Void = { try await sdk.common.refreshServerKeys() }
        for position in 0..<meddler.length {
            meddler.change(position, UInt8(1) << UInt8(self.random.number(below: 8)))
            #expect(await identityError(refresh) == .serverSignatureInvalid, "byte \(position)")
        }
        let code = try await server.authenticationCode()
        #expect(
            await identityError { _ = try sdk.common.parseProcessInitializationData(code) } == .serverSignatureInvalid)
        meddler.change(0, 0)
        try await refresh()
        _ = try sdk.common.parseProcessInitializationData(code)
    }
}

/// Changes bits of one byte of each answer.
// Safe to share: every access is within `lock`.
private final class Meddler: @unchecked Sendable {
    private let lock = NSLock()
    private var position = 0
    private var mask: UInt8 = 0
    private var count = 0

    /// How long the last answer was.
    var length: Int { self.lock.withLock { self.count } }

    func change(_ position: Int, _ mask: UInt8) { self.lock.withLock { (self.position, self.mask) = (position, mask) } }

    func damage(_ response: TransportResponse) -> TransportResponse {
        self.lock.withLock {
            self.count = response.body.count
            var response = response
            response.body[self.position] ^= self.mask
            return response
        }
    }
}

/// A server behind somebody who changes its keys.
private struct MeddlingTransport: Transport {
    let server: VirtualIdentityServer
    let meddler: Meddler

    /// Finds out how long the answer is.
    func measure() async throws {
        let url = try #require(URL(string: "https://id.example/identity/keys"))
        _ = try await self.send(
            TransportRequest(method: "GET", url: url, headers: [], body: [], timeout: .seconds(1)))
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await self.server.send(request)
        return request.url.path() == "/identity/keys" ? self.meddler.damage(response) : response
    }
}
