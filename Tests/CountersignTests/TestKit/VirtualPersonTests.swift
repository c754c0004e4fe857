import Countersign
import CountersignTestKit
import Testing

@Suite("A person of the test kit, in front of a clock that stands still (decision 94)", .overEachKeyAbility)
struct VirtualPersonTests {
    @Test("who knows only wrong PINs or passwords gives up when no time passes, and is locked out when it does")
    func wrongForEver() async throws {
        for model in [World.pin, World.password] {
            let world = try await World()
            try await world.enroll("alice", [model])
            world.phone.person.script.pins = ["000000"]
            world.phone.person.script.passwords = ["another one"]
            var ends: [OperationError?] = []
            for _ in 0..<10 where ends.last != OperationError.fido(.userLockout) {
                ends.append(await operationError { _ = try await world.phone.authenticate(username: "alice") })
                world.phone.clock.advance(by: .seconds(86_400))
            }
            #expect(ends.dropLast().allSatisfy { $0 == .fido(.userCanceled) } && ends.count > 1)
            #expect(ends.last == .fido(.userLockout))
        }
    }
}
