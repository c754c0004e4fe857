import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("RFC 9470, section 5: how surely another provider has authenticated a person, and how long ago (decision 45)")
struct UpstreamLevelTests {
    private static let created: @Sendable (inout UpstreamChange) -> Void = { $0.newcomers = .created }

    @Test("its words are worth what the operator says, and every other word, or none, what is usual")
    func words() async throws {
        for (usual, word, level) in [
            ("urn:low", "their:mfa=1", "urn:high"), ("urn:low", "their:pwd", "urn:low"),
            ("urn:high", "their:pwd", "urn:low"),
            ("urn:low", "urn:high", "urn:low"), ("urn:low", "THEIR:MFA=1", "urn:low"), ("urn:high", nil, "urn:high"),
        ] as [(String, String?, String)] {
            try await UpstreamPlace.run({
                Self.created(&$0)
                $0.usualLevel = usual
            }) { place async throws in
                let (_, request) = try await place.goThere(claims: ["acr": word.map(JSON.string)])
                #expect(try await place.claims(request).string("acr") == level)
            }
        }
    }

    @Test("who was not authenticated surely enough is sent there once more, with its own words for what is")
    func secondTrip() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let trip = try await place.leave(["acr_values": "urn:high"])
            #expect(trip["acr_values"] == "")
            place.authenticate(trip)
            let second = try place.trip(try #require(try await place.comeBack(trip)))
            #expect(second["acr_values"] == "their:mfa=1")
            #expect(second["state"] != trip["state"] && second["nonce"] != trip["nonce"])
            #expect(second["code_challenge"] != trip["code_challenge"])
            // What was not enough is worth nothing meanwhile, and nobody was added.
            #expect(try await place.complete(trip.request).fields.members.isEmpty)
            #expect(try await place.account() == nil)
            #expect(try await place.comeBack(trip) == nil)
            place.authenticate(second, ["acr": .string("their:mfa=1")])
            #expect(try await place.comeBack(second)?.step == .finished)
            #expect(try await place.claims(trip.request).string("acr") == "urn:high")
        }
    }

    @Test("who was not authenticated surely enough the second time either is not signed in, and the client is told")
    func refused() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let trip = try await place.leave(["acr_values": "urn:high"])
            place.authenticate(trip)
            let second = try place.trip(try #require(try await place.comeBack(trip)))
            place.authenticate(second)
            try await Self.isUnmet(place.comeBack(second)?.step, trip.request, place)
        }
        // One that has no word for it is not asked again.
        try await UpstreamPlace.run({
            Self.created(&$0)
            $0.levels = []
        }) { place async throws in
            let (step, request) = try await place.goThere(["acr_values": "urn:high"])
            try await Self.isUnmet(step, request, place)
            // Nor is one whose account there is.
            #expect(try await place.goThere().step == .finished)
            let trail = try await place.trail("signed-in").count
            let again = try await place.goThere(["acr_values": "urn:high"])
            guard case .unmet? = again.step else {
                Issue.record("\(String(describing: again.step))")
                return
            }
            #expect(try await place.trail("signed-in").count == trail)
        }
    }

    /// Expects that the client is told, and that nobody was added or signed in.
    private static func isUnmet(_ step: UpstreamSignIns.Step?, _ request: String, _ place: UpstreamPlace) async throws {
        guard case .unmet(let answer)? = step else {
            Issue.record("\(String(describing: step))")
            return
        }
        #expect(try ProviderFixture.fields(of: answer)["error"] == "unmet_authentication_requirements")
        #expect(try await place.account() == nil)
        for kind in ["signed-in", "account-created", "identity-linked"] {
            #expect(try await place.trail(kind).isEmpty, "\(kind)")
        }
        #expect(try await place.complete(request).fields.members.isEmpty, "the request is over")
    }

    @Test("a session that was begun by it and is not sure enough goes on with what is")
    func stepUp() async throws {
        try await UpstreamPlace.run(Self.created) { place async throws in
            let session = try #require(try await place.complete(place.goThere().request).session)
            let (_, request) = try await place.goThere(
                claims: ["acr": .string("their:mfa=1")], ["acr_values": "urn:high"], session: session)
            let (fields, next) = try await place.complete(request, session: session)
            #expect(fields["code"] != nil && next != nil)
            let account = try #require(try await place.account())
            #expect(try await place.provider.sessions.running(ofAccount: account).count == 1)
        }
    }

    @Test("a client that asks how long ago gets nobody of whom the provider does not say it, or says too long")
    func ages() async throws {
        let now: Int64 = 1_800_000_000
        for (wishes, sent, moment, isRight) in [
            (["prompt": "login"], (prompt: "login", age: "0"), now, true),
            (["prompt": "login"], ("login", "0"), now - 30, true),
            (["prompt": "login"], ("login", "0"), now - 31, false),
            (["prompt": "login"], ("login", "0"), nil, false), (["max_age": "100"], ("", "100"), now - 130, true),
            (["max_age": "100"], ("", "100"), now - 131, false), (["max_age": "100"], ("", "100"), nil, false),
            (["max_age": "0"], ("", "0"), now - 31, false),
            (["prompt": "select_account"], ("select_account", ""), nil, true),
            (["prompt": "consent"], ("", ""), nil, true), ([:], ("", ""), now - 9_999_999, true),
        ] as [([String: String], (prompt: String, age: String), Int64?, Bool)] {
            try await UpstreamPlace.run(Self.created) { place async throws in
                let trip = try await place.leave(wishes)
                #expect(trip["prompt"] == sent.prompt && trip["max_age"] == sent.age, "\(wishes)")
                place.authenticate(trip, ["auth_time": moment.map(JSON.integer)])
                let step = try await place.comeBack(trip)?.step
                if case .refused(let refusal)? = step { #expect(refusal.code == .stale) }
                #expect((step == .finished) == isRight, "\(wishes) \(String(describing: moment))")
            }
        }
    }
}
