import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in D1, D2, D3, F003 to F008: name and password, and a finger in their place")
struct PasswordUnlockTests {
    private static let password = "lantern street 9"
    private let world: SignInWorld

    init() async {
        self.world = SignInWorld()
        await self.world.server.addAccount("alice", password: Self.password)
    }

    /// A process in which alice has signed in, and wants her finger next time.
    private func signedIn() async throws -> SignIn {
        let app = try await self.world.start()
        try await app.withPassword(username: "alice", password: Self.password) { true }
        return app
    }

    private var challenges: Int { get async { await self.world.server.count("/oauth2/challenge") } }

    @Test("name and password go to the server once, in a body, and nowhere else")
    func typed() async throws {
        let app = try await self.world.start()
        // The first of all asks for the server's nonce.
        _ = await signInError { try await app.withPassword(username: "alice", password: "wrong") }
        await self.world.server.forgetRequests()
        try await app.withPassword(username: "alice", password: Self.password)
        #expect(await app.isSignedIn)
        let carrying = await self.world.server.requests.filter {
            String(decoding: $0.body, as: UTF8.self).contains("lantern%20street%209")
        }
        #expect(carrying.count == 1)
        for request in await self.world.server.requests {
            #expect(request.method == "POST")
            #expect(request.url.query() == nil)
            #expect(!request.headers.contains { $0.value.contains("lantern") })
        }
        #expect(!self.world.stored.contains("lantern"))
    }

    @Test("nothing is sent while one of the two is empty")
    func empty() async throws {
        let app = try await self.world.start()
        for (username, password) in [("", ""), ("alice", ""), ("", Self.password)] {
            #expect(!SignIn.canSubmit(username: username, password: password))
            #expect(
                await signInError { try await app.withPassword(username: username, password: password) }
                    == .wrongCredentials)
        }
        #expect(SignIn.canSubmit(username: "alice", password: Self.password))
        #expect(await self.world.server.requests.isEmpty)
    }

    @Test("an unknown name and a wrong password are one error")
    func uniform() async throws {
        let app = try await self.world.start()
        var errors: [SignInError] = []
        for (username, password) in [("alice", "wrong"), ("nobody", Self.password)] {
            do {
                try await app.withPassword(username: username, password: password)
            } catch let error as SignInError {
                errors.append(error)
            }
        }
        #expect(errors.map(\.description).count == 2)
        #expect(Set(errors.map(\.description)).count == 1)
        #expect(errors.first?.code == .wrongCredentials)
        #expect(await !app.isSignedIn)
    }

    @Test(
        "the question comes before the request, is asked once, and a yes saves both behind the finger before they are sent"
    )
    func savedFirst() async throws {
        let app = try await self.world.start()
        let (storage, server) = (self.world.device.storage, self.world.server)
        let events = Mutex<[String]>([])
        await server.intercept { request async throws in
            if request.url.path() == "/oauth2/challenge" {
                events.withLock { $0.append(storage.snapshot["sign-in-credentials"] == nil ? "sent bare" : "sent") }
                // Saved, and not offered to anybody yet.
                #expect(try app.kept == .nothing)
            }
            return nil
        }
        let offer: SignIn.BiometricOffer = {
            #expect(storage.snapshot["sign-in-credentials"] == nil, "nothing is stored before the yes")
            events.withLock { $0.append("asked") }
            return true
        }
        try await app.withPassword(username: "alice", password: Self.password, offeringBiometrics: offer)
        #expect(events.withLock { $0 } == ["asked", "sent", "sent"], "once more for the nonce")
        #expect(try app.kept == .guardedPassword)
        #expect(!self.world.stored.contains("lantern"), "reading without biometrics gives nothing")
        try await app.withPassword(username: "alice", password: Self.password, offeringBiometrics: offer)
        #expect(events.withLock { $0 }.count { $0 == "asked" } == 1)
    }

    @Test("a no is remembered, and nothing is stored")
    func no() async throws {
        let app = try await self.world.start()
        let asked = Counter()
        for _ in 0..<2 {
            try await app.withPassword(username: "alice", password: Self.password) {
                await asked.add()
                return false
            }
        }
        #expect(await asked.count == 1)
        #expect(try app.kept == .nothing)
        #expect(self.world.device.storage.snapshot["sign-in-credentials"] == nil)
    }

    @Test("a device on which nobody is enrolled asks nobody")
    func notEnrolled() async throws {
        self.world.device.sensor.enroll(nil)
        let app = try await self.world.start()
        let asked = Counter()
        try await app.withPassword(username: "alice", password: Self.password) {
            await asked.add()
            return true
        }
        #expect(await asked.count == 0)
        #expect(try app.kept == .nothing)
    }

    @Test("what the server did not say yes to is deleted, whatever it said, and the choice stays")
    func refused() async throws {
        let app = try await self.world.start()
        #expect(
            await signInError { try await app.withPassword(username: "alice", password: "wrong") { true } }
                == .wrongCredentials)
        #expect(self.world.device.storage.snapshot["sign-in-credentials"] == nil)
        #expect(!self.world.device.storage.snapshot.keys.contains { $0.hasPrefix("guarded-") })
        #expect(try app.wantsBiometrics == true)
        await self.world.server.reachable(false)
        #expect(
            await signInError { try await app.withPassword(username: "alice", password: Self.password) }
                == .networkError)
        #expect(self.world.device.storage.snapshot["sign-in-credentials"] == nil)
        await self.world.server.reachable(true)
        try await app.withPassword(username: "alice", password: Self.password)
        #expect(try app.kept == .guardedPassword, "she was asked before")
    }

    @Test("an app that is killed while the server judges offers nothing at its next start")
    func pending() async throws {
        let app = try await self.world.start()
        let (storage, server) = (self.world.device.storage, self.world.server)
        let found = Mutex<[String: [UInt8]]>([:])
        await server.intercept { _ in
            found.withLock { $0 = storage.snapshot }
            return nil
        }
        try await app.withPassword(username: "alice", password: Self.password) { true }
        await server.intercept(nil)
        let killed = SignInWorld(storage: InMemoryStorage(found.withLock { $0 }))
        killed.device.installation.set()
        #expect(killed.device.storage.snapshot["sign-in-credentials"] != nil)
        let next = try await killed.start()
        #expect(try next.kept == .nothing)
        #expect(await signInError { try await next.withSavedPassword() } == .notSignedIn)
        #expect(killed.device.sensor.readingCount == 0)
        #expect(killed.device.storage.snapshot["sign-in-credentials"] == nil)
    }

    @Test("next time a finger is enough: whether there is something is asked silently, and the finger once")
    func nextTime() async throws {
        _ = try await self.signedIn()
        let app = try await self.world.start()
        #expect(try app.kept == .guardedPassword)
        #expect(self.world.device.sensor.readingCount == 0)
        self.world.device.sensor.feel(.match)
        await self.world.server.forgetRequests()
        try await app.withSavedPassword(prompt: SystemPrompt(reason: "Sign in"))
        #expect(await app.isSignedIn)
        #expect(self.world.device.sensor.prompts.map(\.reason) == ["Sign in"])
        let bodies = await self.world.server.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.contains { $0.contains("username=alice") && $0.contains("lantern%20street%209") })
    }

    @Test("each start with the finger ends the session of the start before, renewed or not; its token is not readable")
    func formerSession() async throws {
        let first = try await self.signedIn()
        self.world.device.clock.advance(by: .seconds(290))
        _ = try await first.authorization(method: "GET", url: self.world.configuration.baseURL)
        #expect(await self.world.server.sessions.map(\.renewalCount) == [1])
        for _ in 0..<2 {
            let app = try await self.world.start()
            self.world.device.sensor.feel(.match)
            try await app.withSavedPassword()
            let (active, head) = await self.world.server.sessions.reduce(into: (0, "")) { found, session in
                if session.isActive { found = (found.0 + 1, session.head) }
            }
            #expect(active == 1 && !self.world.stored.contains(head))
            #expect(await self.world.server.sessions.last?.isActive == true)
            #expect(self.world.device.storage.snapshot["sign-in-orders"] == nil)
        }
        #expect(await self.world.server.sessions.count == 3)
        #expect(self.world.device.sensor.readingCount == 2, "one question a start")
    }

    @Test("without a network for the order the person is signed in; the former session ends when the network is back")
    func formerSessionOffline() async throws {
        _ = try await self.signedIn()
        let app = try await self.world.start()
        self.world.device.sensor.feel(.match)
        await self.world.server.intercept { request in
            guard request.url.path() == "/oauth2/revoke" else { return nil }
            throw TransportError(.unreachable, "no network")
        }
        try await app.withSavedPassword()
        #expect(await app.isSignedIn)
        #expect(await self.world.server.sessions.map(\.isActive) == [true, true])
        await self.world.server.intercept(nil)
        try await app.sendOrders()
        #expect(await self.world.server.sessions.map(\.isActive) == [false, true])
    }

    @Test("a sign-out says that the session of an earlier start was not named, and of its own that it was")
    func signOutOfFormer() async throws {
        let first = try await self.signedIn()
        let next = try await self.world.start()
        #expect(try await !next.signOut())
        #expect(self.world.device.storage.snapshot["sign-in-credentials"] == nil)
        #expect(await self.world.server.sessions.map(\.isActive) == [true])
        #expect(try await first.signOut())
        #expect(await self.world.server.sessions.map(\.isActive) == [false])
    }

    @Test("giving up, another finger and a locked sensor are three things, and what is saved stays")
    func readings() async throws {
        _ = try await self.signedIn()
        let app = try await self.world.start()
        await self.world.server.forgetRequests()
        let endings: [(BiometricReading, SignInError.Code)] = [
            (.cancelled, .cancelled), (.noMatch(hint: ""), .biometricsNotMatched), (.lockedOut, .biometricsLockedOut),
        ]
        for (reading, code) in endings {
            self.world.device.sensor.feel(reading)
            #expect(await signInError { try await app.withSavedPassword() } == code)
            #expect(try app.kept == .guardedPassword)
        }
        #expect(await self.world.server.requests.isEmpty)
    }

    @Test("a changed set of fingers ends what was saved")
    func changed() async throws {
        _ = try await self.signedIn()
        self.world.device.sensor.enroll(Array("another".utf8))
        let app = try await self.world.start()
        await self.world.server.forgetRequests()
        #expect(await signInError { try await app.withSavedPassword() } == .biometricsChanged)
        #expect(try app.kept == .nothing)
        #expect(await self.world.server.requests.isEmpty)
        #expect(self.world.device.storage.snapshot["sign-in-credentials"] == nil)
    }

    @Test("what the server takes no more is deleted, and the fields are offered; without a network it stays")
    func rejected() async throws {
        _ = try await self.signedIn()
        let app = try await self.world.start()
        self.world.device.sensor.feel(.match, .match)
        await self.world.server.reachable(false)
        #expect(await signInError { try await app.withSavedPassword() } == .networkError)
        #expect(try app.kept == .guardedPassword)
        await self.world.server.reachable(true)
        await self.world.server.addAccount("alice", password: "another")
        #expect(await signInError { try await app.withSavedPassword() } == .wrongCredentials)
        #expect(try app.kept == .nothing)
        try await app.withPassword(username: "alice", password: "another")
        #expect(await app.isSignedIn)
    }

    @Test("the app hears why a sign-in failed, also where the device cannot delete what was saved; the next start does")
    func refusedOnFullDisk() async throws {
        let app = try await self.world.start()
        let storage = self.world.device.storage
        await self.world.server.intercept { request in
            if request.url.path() == "/oauth2/challenge" { storage.refuseWrites(true) }
            return nil
        }
        #expect(
            await signInError { try await app.withPassword(username: "alice", password: "wrong") { true } }
                == .wrongCredentials)
        #expect(try app.kept == .nothing)
        await self.world.server.intercept(nil)
        storage.refuseWrites(false)
        _ = try await self.world.start()
        #expect(storage.snapshot["sign-in-credentials"] == nil)
    }

    @Test("who is signed in hears of no failure where the device cannot note what the server accepted: it is deleted")
    func notNoted() async throws {
        let app = try await self.signedIn()
        let storage = self.world.device.storage
        // The order to end the session before is sent when everything of the new one lies on the device.
        await self.world.server.intercept { request in
            if request.url.path() == "/oauth2/revoke" { storage.refuseWrites(true) }
            return nil
        }
        #expect(await signInError { try await app.withPassword(username: "alice", password: Self.password) } == nil)
        #expect(try await app.isSignedIn && app.kept == .nothing)
        await self.world.server.intercept(nil)
        storage.refuseWrites(false)
        #expect(try await self.world.start().kept == .nothing)
        #expect(storage.snapshot["sign-in-credentials"] == nil)
    }

    @Test("a refusal of what was saved deletes nothing that another process has saved since")
    func savedMeanwhile() async throws {
        let first = try await self.signedIn()
        await self.world.server.addAccount("alice", password: "another")
        let app = try await self.world.start()
        let server = self.world.server
        await server.intercept { _ in
            await server.intercept(nil)
            try await first.withPassword(username: "alice", password: "another")
            return nil
        }
        self.world.device.sensor.feel(.match, .match)
        #expect(await signInError { try await app.withSavedPassword() } == .wrongCredentials)
        #expect(try app.kept == .guardedPassword)
        try await app.withSavedPassword()
        #expect(await app.isSignedIn)
    }

    @Test("texts that cannot be saved leave no key behind the finger, and are not sent")
    func notSaved() async throws {
        let app = try await self.world.start()
        let storage = self.world.device.storage
        storage.interruptAfterWrite { name in
            guard name == "sign-in-credentials" else { return }
            throw StorageError(.unavailable, "the disk is full")
        }
        #expect(
            await signInError { try await app.withPassword(username: "alice", password: Self.password) { true } }
                == .storageError)
        storage.interruptAfterWrite(nil)
        #expect(storage.snapshot["sign-in-credentials"] == nil)
        #expect(!storage.snapshot.keys.contains { $0.hasPrefix("guarded-") })
        #expect(await self.challenges == 0)
    }

    @Test("a second factor is asked for where the app can, and the browser is the way where it cannot")
    func secondFactor() async throws {
        await self.world.server.addAccount("bob", password: Self.password, otp: "123456")
        let app = try await self.world.start()
        #expect(
            await signInError { try await app.withPassword(username: "bob", password: Self.password) } == .browserNeeded
        )
        #expect(
            await signInError {
                try await app.withPassword(username: "bob", password: Self.password, secondFactor: { _ in nil })
            } == .cancelled)
        let typed = Mutex(["000000", "123456"])
        try await app.withPassword(
            username: "bob", password: Self.password, secondFactor: { _ in typed.withLock { $0.removeFirst() } })
        #expect(await app.isSignedIn)
        #expect(typed.withLock { $0 }.isEmpty)
    }

    @Test(
        "whoever types wrong codes hears so and how many are left, and after five the sign-in ends",
        arguments: [true, false])
    func wrongCodes(_ isSaved: Bool) async throws {
        await self.world.server.addAccount("bob", password: Self.password, otp: "123456")
        let app = try await self.world.start()
        if isSaved {
            try await app.withPassword(
                username: "bob", password: Self.password, offeringBiometrics: { true }, secondFactor: { _ in "123456" })
            self.world.device.sensor.feel(.match)
        }
        let asked = Mutex<[SecondFactorQuestion]>([])
        let prompt: SignIn.SecondFactorPrompt = { question in
            asked.withLock { $0.append(question) }
            return "000000"
        }
        #expect(
            await signInError {
                if isSaved {
                    try await app.withSavedPassword(secondFactor: prompt)
                } else {
                    try await app.withPassword(username: "bob", password: Self.password, secondFactor: prompt)
                }
            } == .wrongSecondFactor)
        #expect(
            asked.withLock { $0 }
                == [SecondFactorQuestion()]
                + [4, 3, 2, 1].map { SecondFactorQuestion(lastError: .invalidCode, triesLeft: $0) })
        // The name and the password were right.
        #expect(try app.kept == (isSaved ? .guardedPassword : .nothing))
    }

    @Test("where the server takes no further code and wants the password anew, the sign-in ends with that")
    func codesOfTheServer() async throws {
        await self.world.server.addAccount("bob", password: Self.password, otp: "123456")
        let app = try await self.world.start()
        let server = self.world.server
        let asked = Mutex(0)
        #expect(
            await signInError {
                try await app.withPassword(
                    username: "bob", password: Self.password,
                    secondFactor: { _ in
                        asked.withLock { $0 += 1 }
                        await server.intercept { _ in
                            let body = #"{"error":"insufficient_authorization","auth_session":"s","next":["password"]}"#
                            return TransportResponse(status: 400, headers: [], body: Array(body.utf8))
                        }
                        return "000000"
                    })
            } == .wrongSecondFactor)
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("what the server says is told apart")
    func words() async throws {
        let words: [(String, SignInError.Code)] = [
            ("redirect_to_web", .browserNeeded), ("access_denied", .denied), ("unauthorized_client", .misconfigured),
            ("invalid_session", .refused),
        ]
        for (word, code) in words {
            let app = try await self.world.start()
            await self.world.server.intercept { _ in
                TransportResponse(status: 400, headers: [], body: Array(#"{"error":"\#(word)"}"#.utf8))
            }
            #expect(
                await signInError { try await app.withPassword(username: "alice", password: Self.password) } == code)
        }
    }
}
