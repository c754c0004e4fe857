import Testing
import UAF
import _Primitives

@Suite("Decision 11: the ways in which a token travels to a phone")
struct DispatchChannelTests {
    private typealias Row = (name: String, canBeSentOn: Bool, crossesDevices: Bool, needsTarget: Bool)

    private static let table: [DispatchChannel: Row] = [
        .linkQRCode: ("link-png-qr-code", true, true, false),
        .link: ("link", true, false, false),
        .typed: ("typed", false, true, false),
        .qrCode: ("png-qr-code", false, true, false),
        .device: ("device", false, true, true),
    ]

    @Test("Each channel has its row of the table", arguments: DispatchChannel.allCases)
    func properties(channel: DispatchChannel) throws {
        let row = try #require(Self.table[channel])
        #expect(channel.name == row.name)
        #expect(channel.canBeSentOn == row.canBeSentOn)
        #expect(channel.crossesDevices == row.crossesDevices)
        #expect(channel.needsTarget == row.needsTarget)
    }

    @Test("A name is read back to its channel, and no two channels share a name")
    func names() {
        for channel in DispatchChannel.allCases { #expect(DispatchChannel(exactly: channel.name) == channel) }
        #expect(Set(DispatchChannel.allCases.map(\.name)).count == DispatchChannel.allCases.count)
    }

    @Test(
        "Another spelling of a name is no channel",
        arguments: ["", "Link", "link ", "qr-code", "png_qr_code", "link-png-qr-code\0", "l\u{131}nk", "typed\u{301}"])
    func otherNames(name: String) {
        #expect(DispatchChannel(exactly: name) == nil)
    }

    @Test("A channel that needs a target puts no token on a page: nobody can send the token on")
    func targets() {
        for channel in DispatchChannel.allCases where channel.needsTarget { #expect(!channel.canBeSentOn) }
    }

    @Test("The answer to a redeemed token carries the name, and a name of another server comes through as it is")
    func answer() throws {
        for name in DispatchChannel.allCases.map(\.name) + ["of-another-kind"] {
            let answer = ReturnUAFRequest(statusCode: .ok, dispatchChannel: name)
            #expect(try ReturnUAFRequest(parsing: answer.serialized).dispatchChannel == name)
        }
    }
}
