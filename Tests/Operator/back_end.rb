# A back end that knows the sign-in service by the health service's own library alone: it makes one call a line of its input,
# and says what came back. The library is no part of this product: RUBYLIB has the folder of its sources.

require 'cgi'
require 'json'
require 'uri'
require 'faraday'
if Gem::Version.new(Faraday::VERSION) < Gem::Version.new('1.2')
  # The library is written for Faraday 2. That of Debian 12 has JSON in another package, and calls no `on_complete`.
  require 'faraday_middleware'
  module Faraday
    class Middleware
      def call(environment)
        @app.call(environment).on_complete { |answer| on_complete(answer) }
      end
    end
  end
end
require 'sign_in_service'

CALLS = %w[authorize_uri get_token refresh_token revoke_token logout revoke_all_sessions].freeze

client = SignInService::Client.new(
  base_url: ENV.fetch('BASE_URL'), client_id: ENV.fetch('CLIENT_ID'), auth_type: ENV.fetch('AUTH_TYPE').to_sym)

$stdin.each_line do |line|
  call, arguments = JSON.parse(line)
  raise "no call of the library: #{call}" unless CALLS.include?(call)

  begin
    answer = client.public_send(call, **arguments.transform_keys(&:to_sym))
    told = answer.is_a?(String) ? answer : [answer.status, answer.body, answer.headers['set-cookie'].to_s]
  rescue SignInService::Error => e
    told = [e.response[:status], e.response_body, '']
  end
  puts JSON.generate(told)
  $stdout.flush
end
