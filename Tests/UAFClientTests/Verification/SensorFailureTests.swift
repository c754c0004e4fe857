import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("uaf-sections §5.3: an authenticator that does not answer (TIMEOUT), and one that is gone (DISCONNECTED)")
struct SensorFailureTests {
    private static let models = [Device.fingerprint, Device.face]

    @Test("One that does not answer is asked again, twice at most", arguments: models)
    func timeouts(model: AuthenticatorModel) async throws {
        let device = try Device()
        let sensor = try device.sensor(of: model)
        sensor.fail(.timedOut, .timedOut)
        let name = try await device.register(model).name
        #expect(sensor.readingCount == 3)
        sensor.fail(.timedOut, .timedOut)
        sensor.feel(.match)
        #expect(try await device.sign(name).signCounter == 1)
        #expect(sensor.readingCount == 6)
        sensor.fail(.timedOut, .timedOut, .timedOut)
        sensor.feel(.match)
        let ended = await failure { _ = try await device.sign(name) }
        #expect(ended == OperationFailure(.unknown, "") && ended?.asmStatus == .error)
        #expect(sensor.readingCount == 9)
        #expect(try await device.sign(name).signCounter == 2)
        sensor.fail(.timedOut, .timedOut, .timedOut)
        #expect(await failure { try await device.register(model) } == OperationFailure(.unknown, ""))
        #expect(await device.module.registrations(appID: Device.facet).map(\.name) == [name])
    }

    @Test("Misses in between give no further tries", arguments: models)
    func interleaved(model: AuthenticatorModel) async throws {
        let device = try Device()
        let sensor = try device.sensor(of: model)
        let name = try await device.register(model).name
        for _ in 1...3 {
            sensor.feel(.noMatch(hint: "wet"))
            sensor.fail(.timedOut)
        }
        sensor.feel(.match)
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.unknown, ""))
        #expect(sensor.readingCount == 7)
    }

    @Test("One that is gone ends the operation at once, and the key stays", arguments: models)
    func disconnected(model: AuthenticatorModel) async throws {
        let device = try Device()
        let sensor = try device.sensor(of: model)
        let name = try await device.register(model).name
        sensor.fail(.disconnected)
        let person = TestPerson()
        let during = await failure { _ = try await device.sign(name, person: person) }
        #expect(during == OperationFailure(.noSuitableAuthenticator, ""))
        #expect(during?.asmStatus == .authenticatorDisconnected)
        sensor.unplug()
        let before = await failure { _ = try await device.sign(name, person: person) }
        #expect(before == during && before?.asmStatus == .authenticatorDisconnected)
        #expect(await failure { try await device.register(model, person: person) } == during)
        // Asked once, when the sensor was still there.
        #expect(await person.hints.count == 1)
        #expect(await device.module.authenticators.first { $0.model == model }?.isUserEnrolled == false)
        sensor.unplug(false)
        device.recognise(model)
        #expect(try await device.sign(name).signCounter == 1)
    }

    @Test("Of the ways to answer those are left that do without the one that is gone, and only then")
    func ways() async throws {
        let device = try Device()
        let name = try await device.register(Device.fingerprint).name
        let all = [[Device.fingerprint], [Device.possession, Device.fingerprint], [Device.pin], [Device.face]]
        device.sensor?.fail(.disconnected)
        let gone = try #require(await failure { _ = try await device.sign(name) })
        #expect(gone.ways(leftOf: all, models: { $0 }) == [[Device.pin], [Device.face]])
        #expect(gone.ways(leftOf: Array(all[..<2]), models: { $0 }) == nil)
        device.sensor?.feel(.lockedOut)
        let locked = try #require(await failure { _ = try await device.sign(name) })
        #expect(locked.ways(leftOf: all, models: { $0 }) == nil)
    }
}
