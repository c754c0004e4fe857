import ArgumentParser
import Foundation
import Testing
import UAF
import _Primitives

@testable import PhoneCommand

@Suite("What a script answers for a personalised identity")
struct IdentityHolderTests {
    private func holder(_ answers: [String] = [], _ identity: [String] = [], lines: [String] = []) throws
        -> IdentityHolder
    {
        var left = lines
        return try IdentityHolder(
            try AnswerOptions.parse(answers), try IdentityOptions.parse(identity), Report(isJSON: true),
            lines: { left.isEmpty ? nil : left.removeFirst() })
    }

    private func reason(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch { return (error as? Refusal)?.reason }
    }

    private static let roles = [(id: "citizen", name: "Resident"), (id: "official", name: "Official")]

    @Test("A role is taken by its id or its name, the only one without a word, and none of several")
    func roles() async throws {
        for word in ["official", "Official"] {
            #expect(try await self.holder([], ["--role", word]).role(among: Self.roles) == 1)
        }
        #expect(try await self.holder().role(among: [Self.roles[1]]) == 0)
        #expect(await self.reason { _ = try await self.holder().role(among: Self.roles) } == "usage")
        #expect(
            await self.reason { _ = try await self.holder([], ["--role", "mayor"]).role(among: Self.roles) }
                == "no-such-role")
    }

    private static let alternatives: [[AuthenticatorType]] = [[.biometric, .device], [.pin, .device]]

    @Test("Factors are one of the alternatives, whole: as was said, by the PIN that was given, or the first")
    func factors() async throws {
        let named = try self.holder([], ["--factor", "device,pin"])
        #expect(try await named.alternative(among: Self.alternatives) == [.pin, .device])
        let withPIN = try self.holder(["--pin", "258036"])
        #expect(try await withPIN.alternative(among: Self.alternatives) == [.pin, .device])
        #expect(try await self.holder().alternative(among: Self.alternatives) == [.biometric, .device])
        for list in ["pin", "pin,biometric", "pin,biometric,device"] {
            let holder = try self.holder([], ["--factor", list])
            #expect(await self.reason { _ = try await holder.alternative(among: Self.alternatives) } == "usage")
        }
    }

    @Test("Each line is a PIN, once; the first is the values where they are wanted")
    func lines() async throws {
        var holder = try self.holder(
            ["--pin-stdin"], ["--value-stdin"], lines: [#"{"givenName":"Ada"}"#, "258036", "630852"])
        #expect(holder.canTryAgain)
        #expect(try await holder.pin(.present) == SecretBytes(Array("258036".utf8)))
        #expect(try await holder.pin(.new) == SecretBytes(Array("630852".utf8)))
        #expect(!holder.canTryAgain)
        do {
            _ = try await holder.pin(.new)
            Issue.record("a PIN out of nothing")
        } catch let refusal as Refusal { #expect(refusal.status == .usage && refusal.sentence.contains("New PIN")) }
        for lines in [[], ["258036"], ["[]"], [#"{"a":1"#]] {
            #expect(await self.reason { _ = try self.holder([], ["--value-stdin"], lines: lines) } == "usage")
        }
    }

    @Test("A script without an answer agrees to nothing; one that has begun something itself agrees to that")
    func decisions() async throws {
        #expect(await self.holderDecides([]) == false)
        #expect(await self.holderDecides(["--approve"]) == true)
        #expect(await self.holderDecides(["--deny"]) == false)
        var own = try self.holder()
        own.approveOwnRequest()
        #expect(await own.decides("Change the PIN?"))
    }

    private func holderDecides(_ answers: [String]) async -> Bool? {
        guard let holder = try? self.holder(answers) else { return nil }
        return await holder.decides("Approve?")
    }

    @Test("A rest that is for good, or longer than a script sits out, ends it as locked out")
    func rests() async throws {
        try await withPhoneFolder { home async throws in
            let device = try PhoneDevice(try PhoneOptions.parse(["--home", home]))
            let more = try self.holder(["--pin-stdin"], lines: ["1", "2"])
            for (holder, seconds, reason) in [
                (more, nil, "locked-for-good"), (more, 3600, "locked-out"), (try self.holder(), 5, "locked-out"),
            ] as [(IdentityHolder, Int?, String)] {
                do {
                    try await IdentityRest(device: device, person: holder).sitOut(
                        seconds: seconds, until: .distantFuture, isPending: false)
                    Issue.record("sat out \(seconds ?? 0) seconds")
                } catch let refusal as Refusal {
                    #expect(refusal.status == .lockedOut && refusal.reason == reason)
                }
            }
            try await IdentityRest(device: device, person: more).sitOut(seconds: 0, until: .now, isPending: false)
        }
    }
}
