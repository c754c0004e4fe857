import Synchronization
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// How much it took to judge an answer, in what is the same on every machine and under every load, which no time is.
private struct FactorWork: Hashable {
    /// Signatures that were verified.
    var verifications = 0
    /// Blocks of SHA-256 that they were over.
    var blocks = 0
}

/// Verifies as it is done, and counts.
private final class FactorMeter: Sendable {
    private let counted = Mutex(FactorWork())

    var check: FactorVerifier.SignatureCheck {
        { key, signature, message in
            self.counted.withLock { work in
                work.verifications += 1
                work.blocks += (message.count + 8) / 64 + 1
            }
            return key.isValid(signature, over: message)
        }
    }

    /// What there was since the last time.
    func take() -> FactorWork {
        self.counted.withLock { work in
            defer { work = FactorWork() }
            return work
        }
    }
}

@Suite("Decision 63: what is wrong with factors is not told by what it takes to find that out (parity, row 50)")
struct FactorWorkTests {
    private static let rounds = 500

    /// Right answers, and those that are wrong in one thing each.
    private static let kinds: [RefusedFactors?] = [
        nil,
        RefusedFactors("a wrong PIN") {
            $0.scene.keys[1].signingKey = .p256(try PinOnBothEnds.shared.key(of: "wrong"))
        },
        RefusedFactors("another finger") {
            $0.signByFinger()
            $0.scene.keys[1].signingKey = $0.scene.keys[1].privateKey.other
        },
        RefusedFactors("another device") { $0.scene.keys[0].signingKey = $0.scene.keys[0].privateKey.other },
        RefusedFactors("the PIN alone") { $0.scene.keys.removeFirst() },
        RefusedFactors("PIN and finger without the device") { $0.scene.keys[0] = $0.finger },
    ]

    /// The work of each kind's answers, in turns: a challenge, and signatures, of its own for each.
    private func works(
        _ judge: (FactorScene, FactorMeter) throws -> Bool
    ) throws -> [[FactorWork]] {
        var scenes: [FactorScene] = []
        for kind in Self.kinds {
            var scene = try FactorScene()
            try kind?.change(&scene)
            scenes.append(scene)
        }
        let meter = FactorMeter()
        var works = Self.kinds.map { _ in [FactorWork]() }
        for _ in 0..<Self.rounds {
            for index in scenes.indices {
                scenes[index].scene.challenge = Challenge(random: .system)
                scenes[index].scene.params = FinalChallengeParams(
                    appID: Names.appID, challenge: scenes[index].scene.challenge, facetID: try FacetID(Names.facet))
                let isAccepted = try judge(scenes[index], meter)
                guard isAccepted == (Self.kinds[index] == nil) else { throw WrongVerdict(kind: index) }
                works[index].append(meter.take())
            }
        }
        return works
    }

    private struct WrongVerdict: Error { let kind: Int }

    private func median(_ values: [Int]) -> Int { values.sorted()[values.count / 2] }

    /// How far the medians of the kinds lie apart, and how far the answers of one kind do.
    private func distances(_ works: [[FactorWork]], _ unit: KeyPath<FactorWork, Int>) -> (medians: Int, spread: Int) {
        let medians = works.map { self.median($0.map { $0[keyPath: unit] }) }
        let spreads = works.map { own in
            let values = own.map { $0[keyPath: unit] }
            return (values.max() ?? 0) - (values.min() ?? 0)
        }
        return ((medians.max() ?? 0) - (medians.min() ?? 0), spreads.max() ?? 0)
    }

    @Test("Of 500 answers each, right ones and wrong ones take the same, every one of them")
    func medians() throws {
        let works = try self.works { made, meter in
            let verdict = FactorVerifier(made.scene.configuration, isSignature: meter.check).judge(
                try UnverifiedAuthentication(parsing: try made.scene.authenticationMessage()), expected: made.expected,
                keys: made.scene.credentials)
            if case .accepted = verdict { return true }
            return false
        }
        for unit in [\FactorWork.verifications, \FactorWork.blocks] {
            let (medians, spread) = self.distances(works, unit)
            #expect(medians == 0 && spread == 0, "\(works.map { $0[0] })")
        }
        #expect(works[0][0] == FactorWork(verifications: 3, blocks: 9), "and they do take something")
    }

    @Test("A verifier that ends at the first wrong factor is told from ours by the same measure")
    func stopping() throws {
        let works = try self.works { made, meter in
            try StoppingFactorVerifier(table: .product, isSignature: meter.check).judge(
                try made.scene.authenticationMessage(), matrix: made.matrix, keys: made.scene.credentials)
        }
        for unit in [\FactorWork.verifications, \FactorWork.blocks] {
            let (medians, spread) = self.distances(works, unit)
            #expect(medians > 0 && medians > spread, "\(works.map { $0[0] })")
        }
    }
}
