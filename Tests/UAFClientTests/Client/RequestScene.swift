import CountersignTestKit
import Foundation
import UAF
import UAFClient
import _Primitives

/// A request that is accepted, and everything around it that a test may change one thing of.
struct RequestScene: Sendable {
    enum Operation: String, CaseIterable, Sendable { case registration, authentication, deregistration }

    static let appID = "https://id.example.com/facets"

    /// The message, an array of one dictionary.
    var message: JSON
    /// What the server answers to the request for its facet list, whatever the address: a client that looks for it in a wrong place
    /// finds it there.
    var facetList = FacetListAnswer(
        status: 200, contentType: "application/fido.trusted-apps+json",
        body: Array(
            #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#.utf8))
    /// In place of ``facetList``, for one address.
    var answers: [String: FacetListAnswer] = [:]
    /// In place of ``message``, bytes that need not be JSON.
    var bytes: [UInt8]?
    /// The app that asks.
    var facet = Device.facet
    /// The pictures that the app shows.
    var displays: [DisplayPNGCharacteristics] = []

    /// A device with one key of each of PIN and possession for the AppID, and a request that it can answer.
    init(_ operation: Operation, _ keys: [KeyName]) throws {
        let keyID = keys.first { $0.aaid == Device.pin.aaid }?.keyID.base64URL ?? ""
        let header = #""upv":{"major":1,"minor":1},"appID":"\#(Self.appID)","serverData":"state""#
        let challenge = Base64URL.encode([UInt8](repeating: 7, count: 32))
        let text: String
        switch operation {
        case .registration:
            text = """
                [{"header":{\(header),"op":"Reg"},"challenge":"\(challenge)","username":"alice",
                "policy":{"accepted":[[{"aaid":["C516#0001"]}]]}}]
                """
        case .authentication:
            text = """
                [{"header":{\(header),"op":"Auth"},"challenge":"\(challenge)",
                "transaction":[{"contentType":"text/plain","content":"UGF5"}],
                "policy":{"accepted":[[{"aaid":["C516#0001"],"keyIDs":["\(keyID)"]}]]}}]
                """
        case .deregistration:
            text = """
                [{"header":{\(header),"op":"Dereg"},"authenticators":[{"aaid":"C516#0001","keyID":"\(keyID)"}]}]
                """
        }
        self.message = try JSON(parsing: text.utf8)
    }

    /// Sets, or with `nil` removes, what stands at a path such as `0.header.upv`.
    mutating func set(_ path: String, _ value: JSON?) {
        self.message = Self.setting(self.message, path.split(separator: ".")[...], value)
    }

    private static func setting(_ json: JSON, _ path: ArraySlice<Substring>, _ value: JSON?) -> JSON {
        guard let step = path.first else { return json }
        let rest = path.dropFirst()
        switch json {
        case .array(var values):
            guard let index = Int(step) else { return json }
            if rest.isEmpty, let value {
                if index < values.count { values[index] = value } else { values.append(value) }
            } else if rest.isEmpty {
                values.remove(at: index)
            } else {
                values[index] = self.setting(values[index], rest, value)
            }
            return .array(values)
        case .object(var object):
            let name = String(step)
            object[name] = rest.isEmpty ? value : object[name].map { self.setting($0, rest, value) }
            return .object(object)
        default: return json
        }
    }

    /// How the client judges the request, without anybody being asked.
    func check(_ device: Device) async throws {
        try await self.client(device).checkPolicy(self.bytes ?? self.message.serialized)
    }

    func client(_ device: Device) throws -> MessageClient {
        let module = try AuthenticatorModule(
            platform: device.platform,
            configuration: AuthenticatorModule.Configuration(
                callerID: try FacetID(Device.facet), pinHardening: Device.hardening, pictureDisplays: self.displays))
        let (list, answers) = (self.facetList, self.answers)
        return MessageClient(module: module, facetID: try FacetID(self.facet)) { url in
            answers[url.absoluteString] ?? list
        }
    }

    /// Has another app ask, which the facet list names.
    mutating func askAsListed(_ facet: String) {
        self.facet = facet
        self.facetList.body = Array(
            #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["\#(facet)"]}]}"#.utf8)
    }
}

/// A picture of two by one pixels with a palette, as a whole file, and what it says of itself.
enum Picture {
    static let base64URL =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABAQMAAADO7O3JAAAABlBMVEX_AAAAAP9sof2OAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
    static let grey =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNg-A8AAQIBAEK-vGgAAAAASUVORK5CYII"
    static let bytes = Base64URL.decode(base64URL) ?? []
    static let display = DisplayPNGCharacteristics(width: 2, height: 1, bitDepth: 1, colorType: 3)
    static let transaction = Transaction(contentType: .imagePNG, content: bytes, pngCharacteristics: display)
}
