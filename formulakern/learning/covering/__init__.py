"""Rule lists: sequential covering, decision lists that are optimal, rules of trees."""
