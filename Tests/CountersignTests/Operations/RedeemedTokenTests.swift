import Ceremony
import Countersign
import CountersignTestKit
import Testing

@Suite("Operations parity 34, threat model, Signing what nobody has seen: who has used a code", .overEachKeyAbility)
struct RedeemedTokenTests {
    private func error(_ world: World, _ payload: OutOfBandPayload) async -> OperationError? {
        await operationError { _ = try await world.phone.redeem(payload) }
    }

    private func isOwn(_ error: OperationError?) -> Bool {
        error == OperationError(.tokenAlreadyRedeemed) && error?.recovery == .haveCodeShownAgain
            && error?.errorDescription == "You have used this code in this app before."
    }

    private func isSomebodys(_ error: OperationError?) -> Bool {
        error == OperationError(.tokenAlreadyRedeemed) && error?.recovery == .warnPerson
            && error?.errorDescription == "The code was used before, perhaps by somebody else."
    }

    @Test("whoever scans their own code again, also after the app was killed, has it shown again and is not warned")
    func own() async throws {
        let world = try await World()
        let payload = try await world.server.authentication()
        _ = try await world.phone.redeem(payload)
        #expect(self.isOwn(await self.error(world, payload)))
        let restarted = try await world.restarted()
        #expect(self.isOwn(await self.error(restarted, payload)))
        #expect(self.isOwn(await self.error(try await restarted.restarted(), payload)))
    }

    @Test("so it is where the app was killed before the server's answer came") func killed() async throws {
        let world = try await World()
        let payload = try await world.server.authentication()
        let other = try await VirtualPhone(
            configuration: world.phone.client.configuration, transport: world.server)
        await world.server.intercept { _ in
            await world.server.stopIntercepting()
            // The server has redeemed it, and nobody hears of it here.
            _ = try await other.redeem(payload)
            throw TransportError(.unreachable, "killed")
        }
        #expect(await self.error(world, payload) == OperationError(.networkError))
        #expect(self.isOwn(await self.error(try await world.restarted(), payload)))
    }

    @Test("what somebody else has used warns the person, however often it is scanned") func somebodyElse() async throws
    {
        let world = try await World()
        let payload = try await world.server.authentication()
        let other = try await VirtualPhone(
            configuration: world.phone.client.configuration, transport: world.server)
        _ = try await other.redeem(payload)
        #expect(self.isSomebodys(await self.error(world, payload)))
        #expect(self.isSomebodys(await self.error(world, payload)))
        #expect(self.isSomebodys(await self.error(try await world.restarted(), payload)))
    }

    @Test("a device without room warns once more than need be, and redeems") func noRoom() async throws {
        let world = try await World()
        let payload = try await world.server.authentication()
        world.phone.storage.refuseWrites(true)
        _ = try await world.phone.redeem(payload)
        world.phone.storage.refuseWrites(false)
        #expect(self.isSomebodys(await self.error(try await world.restarted(), payload)))
    }

    @Test("of the codes that this device has used the last ones are known, and none can be read from its storage")
    func bounded() async throws {
        let world = try await World()
        var payloads: [OutOfBandPayload] = []
        for _ in 0..<33 {
            payloads.append(try await world.server.authentication())
            _ = try await world.phone.redeem(payloads[payloads.count - 1])
        }
        let restarted = try await world.restarted()
        for number in [32, 1] { #expect(self.isOwn(await self.error(restarted, payloads[number]))) }
        #expect(self.isSomebodys(await self.error(restarted, payloads[0])))
        let stored = world.phone.storage.snapshot.values.map { String(decoding: $0, as: UTF8.self) }
        #expect(payloads.allSatisfy { payload in stored.allSatisfy { !$0.contains(payload.redeemData.token) } })
    }
}
