import Ceremony
import CeremonyEngine
import Crypto
import JOSE
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Codes for another device: how long they are there, what they are called, and who takes them back")
struct IdentityOfferTests {
    /// Has a phone ask for another device's activation, and gives its code.
    private func requested(
        _ phone: IdentityPhone, name: String? = "Tablet", mailed: Bool = false, secret: SecretBytes? = nil
    ) async throws -> TestOffer {
        let (session, _) = try await phone.granted(.newActivation)
        let offer = TestOffer(id: RandomSource.system.identifier())
        let point = Array(offer.pin.publicKey.rawRepresentation)
        _ = try await phone.complete(
            session,
            .newActivation(
                Completion.NewActivation(
                    claimDigest: ProcessCode.digest(ofClaim: offer.claim),
                    pinKey: try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil)),
                    pin: try PinParameters(), activation: offer.id, name: name,
                    secretForMail: mailed ? secret ?? offer.secret : nil)))
        return offer
    }

    @Test("row 74: a code that nobody has used is gone when its time is over, and nobody is personalised by it")
    func temporary() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let offer = try await self.requested(phone)
        let late = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let proven = try await server.prove(offer, by: late)
        server.clock.advance(.seconds(15 * 60 - 1))
        #expect(try await server.engine.identities.listings.offers(accountID: account.id).map(\.id) == [offer.id])
        _ = try await server.open(offer)
        server.clock.advance(.seconds(2))
        await #expect(throws: IdentityProblem(.activationDataExpired)) { () async throws in
            _ = try await server.open(offer)
        }
        let call = try await server.enrolCall(late, proven)
        #expect(try await server.engine.identities.enrolments.enroll(offer.id, call).refusal == "activationDataExpired")
        #expect(try await server.engine.identities.listings.offers(accountID: account.id).isEmpty)
        try await server.engine.sweep.run()
        #expect(try await server.database.offer(id: offer.id) == nil)
        await #expect(throws: IdentityProblem(.activationUnknown)) { () async throws in
            _ = try await server.open(offer)
        }
        #expect(try await server.database.activations(accountID: account.id).map(\.device.id) == [phone.id])
    }

    @Test("of codes that pages make at once an account has no more than it may; an operator is not bound")
    func boundHoldsAtOnce() async throws {
        let server = try TestServer { $0.limits.openOffersPerAccount = 3 }
        let (account, _) = try await server.personalise()
        let offers = server.engine.identities.offers
        let made = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<5 {
                group.addTask {
                    do {
                        _ = try await offers.offerOnPage(
                            accountID: account.id, pin: "604817", source: "page \(number)")
                        return true
                    } catch let error as CeremonyError where error.code == .conflict {
                        return false
                    }
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(made == 3)
        #expect(try await server.engine.identities.listings.offers(accountID: account.id).count == 3)
        // An operator, who knows whom it is for, is not bound.
        _ = try await offers.offer(accountID: account.id, by: "test")
        #expect(try await server.engine.identities.listings.offers(accountID: account.id).count == 4)
    }

    @Test("a PIN that is guessed first is no activation's, nor one that an operator has chosen")
    func simplePIN() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        for pin in ["00000", "12345", "54321", "121212", "12341234", "240775", "20011124"] {
            await #expect(throws: CeremonyError(.pinTooSimple)) {
                try await server.engine.identities.offers.offer(accountID: account.id, pin: pin, by: "test")
            }
        }
        #expect(try await server.engine.identities.listings.offers(accountID: account.id).isEmpty)
        _ = try await server.engine.identities.offers.offer(accountID: account.id, pin: "604817", by: "test")
    }

    @Test("row 76: what a person calls the other device is what their list calls it; without a name the device has one")
    func alias() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        for name in ["Tablet", nil] {
            let offer = try await self.requested(phone, name: name)
            let second = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
            let call = try await server.enrolCall(
                second, try await server.prove(offer, by: second), name: "What the device says")
            let receipt = try await second.read(
                try await server.engine.identities.enrolments.enroll(offer.id, call), to: call,
                as: ActivationReceipt.self)
            #expect(receipt.name == name ?? "What the device says")
        }
        let listed = try await server.engine.identities.listings.activations(accountID: account.id)
        #expect(listed.map(\.name) == ["Alice's phone", "Tablet", "What the device says"])
        #expect(listed.map(\.factors) == [[.device, .pin], [.device, .pin], [.device, .pin]])
    }

    @Test("What is wrong with an activation is on the list: it rests, or is disabled")
    func lockouts() async throws {
        let server = try TestServer { $0.limits.lockoutFailuresInARow = 2 }
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let next = try #require(try await phone.miss(code.id, try await phone.prepared(code.id)).next)
        let listings = server.engine.identities.listings
        #expect(
            try await listings.activations(accountID: account.id).map(\.lockedUntil) == [server.clock.now + .seconds(5)]
        )
        server.clock.advance(.seconds(5))
        let rested = try #require(try await listings.activations(accountID: account.id).first)
        #expect(rested.lockedUntil == nil && !rested.isDisabled)
        _ = try await phone.miss(code.id, next)
        let disabled = try #require(try await listings.activations(accountID: account.id).first)
        #expect(disabled.isDisabled && disabled.lockedUntil == nil)
    }

    @Test("A code is taken back by its own account alone, and works no more; a code that was used is not taken back so")
    func withdrawn() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let (stranger, _) = try await server.personalise("bob")
        let offer = try await self.requested(phone)
        let listings = server.engine.identities.listings
        #expect(try await !listings.end(offer.id, accountID: stranger.id))
        #expect(try await !listings.end(phone.id, accountID: stranger.id))
        #expect(try await listings.state(ofOffer: offer.id) == .waiting)
        #expect(try await listings.end(offer.id, accountID: account.id))
        #expect(try await !listings.end(offer.id, accountID: account.id))
        #expect(try await listings.state(ofOffer: offer.id) == .over)
        await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
            _ = try await server.open(offer)
        }
        #expect(try await server.database.offer(id: offer.id)?.pinKey == [])
        #expect(try await listings.activations(accountID: account.id).map(\.id) == [phone.id])
    }

    @Test("Those who watch a code are told when a device is personalised by it, and when its time is over")
    func watched() async throws {
        let server = try TestServer()
        let (account, _) = try await server.personalise()
        let listings = server.engine.identities.listings
        let (used, left) = (try await server.offer(to: account), try await server.offer(to: account))
        var states = listings.events(ofOffer: used.id).makeAsyncIterator()
        #expect(try await states.next() == .waiting)
        let phone = IdentityPhone(server, id: used.id, factors: [.device, .pin])
        let call = try await server.enrolCall(phone, try await server.prove(used, by: phone))
        _ = try await server.engine.identities.enrolments.enroll(used.id, call)
        #expect(try await states.next() == .done)
        #expect(try await states.next() == nil)
        server.clock.advance(.seconds(901))
        var late = listings.events(ofOffer: left.id).makeAsyncIterator()
        #expect(try await late.next() == .over)
        #expect(try await late.next() == nil)
        // The row of a code goes with its time, and what it became is told all the same.
        try await server.engine.sweep.run()
        #expect(try await listings.state(ofOffer: used.id) == .done)
        #expect(try await listings.state(ofOffer: left.id) == .over)
    }

    @Test("A secret that is not the code's own, or a server without mail, makes no letter")
    func letters() async throws {
        let silent = try TestServer()
        let (_, quiet) = try await silent.personalise()
        let offer = try await self.requested(quiet, mailed: true)
        #expect(try await silent.database.offer(id: offer.id)?.letter == nil)

        let server = try TestServer { $0.sendsMail = true }
        let (_, phone) = try await server.personalise()
        await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
            _ = try await self.requested(
                phone, mailed: true, secret: SecretBytes([UInt8](repeating: 1, count: ProcessCode.secretBytes)))
        }
        let lettered = try await self.requested(phone, mailed: true)
        #expect(try await server.database.offer(id: lettered.id)?.letter?.isEmpty == false)
        let unlettered = try await self.requested(phone)
        #expect(try await server.database.offer(id: unlettered.id)?.letter == nil)
        let now = server.clock.now
        let letters = try await server.database.takeMessages(
            to: .mailbox, at: now, lease: now + .seconds(60), shares: OutboxShares(most: 9, share: 9))
        let mails = try letters.map { try MailDelivery($0) }
        #expect(mails.map(\.about) == [lettered.id] && mails.map(\.subject) == [.newActivation])
        // What is kept of the code goes with its letter.
        try await server.database.removeMessage(letters[0], audit: nil)
        #expect(try await server.database.offer(id: lettered.id)?.letter == nil)
    }
}
