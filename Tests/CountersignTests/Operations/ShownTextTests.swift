import Countersign
import CountersignTestKit
import Testing
import UAF

@Suite("Operations parity 90: the text that page and phone show reaches the app's screens", .overEachKeyAbility)
struct ShownTextTests {
    @Test("The screens get the text of the request, and none if the request has none")
    func shown() async throws {
        let world = try await World()
        try await world.enroll()
        for text in ["7KQ2", nil] {
            world.phone.person.forget()
            let payload = try await world.server.authentication(
                requester: ReturnUAFRequest.Requester(service: "Bank", channelLinking: text))
            _ = try await world.phone.authenticate(payload)
            let asked = world.phone.person.asked.filter { $0.requester != nil }
            #expect(!asked.isEmpty)
            for question in asked { #expect(question.requester?.channelLinking == text) }
        }
    }
}
