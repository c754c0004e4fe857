import CeremonyEngine
import Countersign
import Testing

/// That a code makes no new identity.
private struct NoPersonalization: Error {}

@Suite("Two phones with one activation's code and the right PIN")
struct TwoPhonesTests {
    private static let pin = "824193"

    private func personalization(_ phone: StagePhone, _ code: String) async throws -> Personalization {
        guard case .newPersonalization(let new) = try await phone.open(code, pin: Self.pin) else {
            throw NoPersonalization()
        }
        return new
    }

    @Test("the one that has proven the PIN last enrols; the other is told that its process has ended")
    func oneAfterTheOther() async throws {
        try await IdentityStage.run { stage async throws in
            let code = try await stage.offer(pin: Self.pin).code
            let (first, second) = (try await stage.phone("first"), try await stage.phone("second"))
            let overtaken = try await self.personalization(first, code)
            let last = try await self.personalization(second, code)
            let error = await #expect(throws: CountersignError.self) {
                try await first.sdk.personalizer.finishPersonalization(request: overtaken)
            }
            #expect(error?.errorCode == .sessionSuperseded)
            _ = try await second.sdk.personalizer.finishPersonalization(request: last)
        }
    }

    @Test("at once, one of them enrols", arguments: 1...5)
    func atOnce(_ number: Int) async throws {
        try await IdentityStage.run { stage async throws in
            let code = try await stage.offer(pin: Self.pin).code
            let phones = [try await stage.phone("first"), try await stage.phone("second")]
            let enrolled = await withTaskGroup(of: Bool.self) { group in
                for phone in phones {
                    group.addTask {
                        do {
                            let new = try await self.personalization(phone, code)
                            _ = try await phone.sdk.personalizer.finishPersonalization(request: new)
                            return true
                        } catch {
                            #expect((error as? CountersignError)?.errorCode != .activationUnknown, "\(error)")
                            return false
                        }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(enrolled == 1)
        }
    }
}
